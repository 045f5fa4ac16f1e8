import {
  type Abi,
  concat,
  encodeAbiParameters,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  maxUint256,
  pad,
  toHex,
  zeroAddress,
} from 'viem'
import { compileContract } from '../../../contracts/compile.ts'
import { nativeTokenAbi } from './nativeTokenAbi.ts'

/** A call on the native token. */
export type TokenCall =
  | { readonly name: 'transfer' | 'approve'; readonly to: Hex; readonly amount: bigint }
  | { readonly name: 'transferFrom'; readonly from: Hex; readonly to: Hex; readonly amount: bigint }
  | { readonly name: 'withdraw'; readonly amount: bigint }
  | { readonly name: 'deposit' | 'balanceOf' | 'fallback' }

/** One step of a Puppet (contracts/test/Puppet.sol). */
export type Step =
  | {
      readonly kind: 'call'
      readonly target: Hex
      readonly value: bigint
      readonly payload: Payload
      readonly must: boolean
    }
  | {
      readonly kind: 'staticCall' | 'delegateCall'
      readonly target: Hex
      readonly payload: Payload
      readonly must: boolean
    }
  | { readonly kind: 'create'; readonly value: bigint; readonly steps: readonly Step[]; readonly must: boolean }
  | { readonly kind: 'selfDestruct'; readonly target: Hex }
  | { readonly kind: 'revert' }

/** Calldata of a step: a call on the token, steps for a Puppet, or nothing. */
export type Payload = { readonly token: TokenCall } | { readonly steps: readonly Step[] } | undefined

/** In a step's target: what the latest creation of the same run gave. */
export const LAST_CREATED: Hex = '0x000000000000000000000000000000000c4ea7ed'
/** In a step's target: the account that runs it. */
export const SELF: Hex = '0x0000000000000000000000000000000000005e1f'

const PUPPET = compileContract('test/Puppet.sol', 'Puppet')
export const PUPPET_CODE = PUPPET.deployedBytecode
const KINDS = ['call', 'staticCall', 'delegateCall', 'create', 'selfDestruct', 'revert']
/** Gas of calls by depth: a frame that burns all it has leaves enough to the ones around it. */
const CALL_GAS = [3_000_000n, 600_000n, 90_000n] as const
/** Frames below this depth have not the gas to deploy a Puppet. */
export const MAX_CREATION_DEPTH = 1

export function encodePayload(payload: Payload, depth: number): Hex {
  if (payload === undefined) return '0x'
  if ('steps' in payload) {
    const args = [encodeSteps(payload.steps, depth)]
    return encodeFunctionData({ abi: PUPPET.abi as unknown as Abi, functionName: 'run', args })
  }
  const call = payload.token
  switch (call.name) {
    case 'transfer':
    case 'approve':
      return encodeFunctionData({ abi: nativeTokenAbi, functionName: call.name, args: [call.to, call.amount] })
    case 'transferFrom':
      return encodeFunctionData({
        abi: nativeTokenAbi,
        functionName: call.name,
        args: [call.from, call.to, call.amount],
      })
    case 'withdraw':
      return encodeFunctionData({ abi: nativeTokenAbi, functionName: call.name, args: [call.amount] })
    case 'balanceOf':
      return encodeFunctionData({ abi: nativeTokenAbi, functionName: call.name, args: [zeroAddress] })
    case 'deposit':
      return encodeFunctionData({ abi: nativeTokenAbi, functionName: call.name })
    case 'fallback':
      return '0x'
  }
}

/** Creation code of a Puppet that runs `steps` in its constructor. */
export function encodeCreation(steps: readonly Step[], depth: number): Hex {
  const definition = (PUPPET.abi as unknown as Abi).find((entry) => entry.type === 'constructor')!
  return concat([PUPPET.bytecode, encodeAbiParameters(definition.inputs, [encodeSteps(steps, depth)])])
}

function encodeSteps(steps: readonly Step[], depth: number): readonly unknown[] {
  return steps.map((step) => ({
    kind: KINDS.indexOf(step.kind),
    target: 'target' in step ? step.target : zeroAddress,
    value: 'value' in step ? step.value : 0n,
    gas: CALL_GAS[depth] ?? 0n,
    data:
      step.kind === 'create'
        ? encodeCreation(step.steps, depth + 1)
        : 'payload' in step
          ? encodePayload(step.payload, depth + 1)
          : '0x',
    mustSucceed: step.kind === 'revert' || ('must' in step && step.must),
  }))
}

interface ModelLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
}

interface ModelState {
  balances: Map<Hex, bigint>
  /** `owner:spender` */
  allowances: Map<string, bigint>
  nonces: Map<Hex, number>
  puppets: Set<Hex>
  created: Set<Hex>
  destroyed: Set<Hex>
  logs: ModelLog[]
  burnt: bigint
}

interface Frame {
  readonly self: Hex
  readonly caller: Hex
  readonly isStatic: boolean
}

/** Why a frame ended early: everything it did is undone. */
class FrameFailed extends Error {}
/** SELFDESTRUCT ends a frame with success. */
class FrameEnded extends Error {}

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const APPROVAL = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925'
const DEPOSIT = '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c'
const WITHDRAWAL = '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65'

/** What a transaction says about itself that the model does not compute. */
export interface ModelTransaction {
  readonly from: Hex
  /** undefined creates a Puppet with the payload's steps */
  readonly to: Hex | undefined
  readonly value: bigint
  readonly payload: Payload
  readonly gasLimit: bigint
  readonly gasPrice: bigint
}

/**
 * Balances, allowances, supply and logs of a chain with Puppets and the native token, computed from what DESIGN and EIPs say
 * and with none of the code under test.
 */
export class CoinModel {
  readonly #token: Hex
  #state: ModelState

  constructor(token: Hex, balances: Readonly<Record<Hex, bigint>>, puppets: readonly Hex[]) {
    this.#token = token
    this.#state = {
      balances: new Map(Object.entries(balances) as [Hex, bigint][]),
      allowances: new Map(),
      nonces: new Map(puppets.map((puppet) => [puppet, 1])),
      puppets: new Set(puppets),
      created: new Set(),
      destroyed: new Set(),
      logs: [],
      burnt: 0n,
    }
  }

  /** All accounts with a balance. */
  holders(): ReadonlyMap<Hex, bigint> {
    return new Map([...this.#state.balances].filter(([, balance]) => balance > 0n))
  }

  allowances(): ReadonlyMap<string, bigint> {
    return this.#state.allowances
  }

  /** Runs a transaction; its fee is settled by {@link settle} once the gas it used is known. */
  run({ from, to, value, payload, gasLimit, gasPrice }: ModelTransaction): {
    ok: boolean
    logs: readonly ModelLog[]
    burnt: bigint
  } {
    const state = this.#state
    state.logs = []
    state.burnt = 0n
    state.created.clear()
    state.destroyed.clear()
    this.#add(from, -gasLimit * gasPrice)
    const nonce = state.nonces.get(from) ?? 0
    state.nonces.set(from, nonce + 1)
    const ok =
      to === undefined
        ? this.#create(from, nonce, value, payload !== undefined && 'steps' in payload ? payload.steps : []) !==
          undefined
        : this.#attempt(() => this.#call({ self: to, caller: from, isStatic: false }, value, payload))
    return { ok, logs: this.#state.logs, burnt: this.#endTransaction() }
  }

  /** Gives the sender back what it paid for too much, and the fee to `collector`. */
  settle({ from, gasLimit, gasPrice }: ModelTransaction, gasUsed: bigint, collector: Hex): void {
    this.#add(from, (gasLimit - gasUsed) * gasPrice)
    this.#add(collector, gasUsed * gasPrice)
  }

  /** EIP-6780: what a contract destroyed in its creating transaction still has is gone. */
  #endTransaction(): bigint {
    const state = this.#state
    let burnt = state.burnt
    for (const address of state.destroyed) {
      burnt += this.#balance(address)
      state.balances.delete(address)
      state.puppets.delete(address)
      state.nonces.delete(address)
    }
    return burnt
  }

  #balance(address: Hex): bigint {
    return this.#state.balances.get(address) ?? 0n
  }

  #add(address: Hex, amount: bigint): void {
    this.#state.balances.set(address, this.#balance(address) + amount)
  }

  #move(from: Hex, to: Hex, amount: bigint): void {
    if (this.#balance(from) < amount) throw new FrameFailed()
    this.#add(from, -amount)
    this.#add(to, amount)
  }

  #log(topic: Hex, accounts: readonly Hex[], amount: bigint): void {
    this.#state.logs.push({
      address: this.#token,
      topics: [topic, ...accounts.map((account) => pad(account))],
      data: pad(toHex(amount)),
    })
  }

  /** Runs `body`; when it fails nothing of it stays. */
  #attempt(body: () => void): boolean {
    const { balances, allowances, nonces, puppets, created, destroyed, logs, burnt } = this.#state
    const before: ModelState = {
      balances: new Map(balances),
      allowances: new Map(allowances),
      nonces: new Map(nonces),
      puppets: new Set(puppets),
      created: new Set(created),
      destroyed: new Set(destroyed),
      logs: [...logs],
      burnt,
    }
    try {
      body()
      return true
    } catch (error) {
      if (error instanceof FrameEnded) return true
      if (!(error instanceof FrameFailed)) throw error
      this.#state = before
      return false
    }
  }

  #call(frame: Frame, value: bigint, payload: Payload): void {
    this.#move(frame.caller, frame.self, value)
    this.#execute(frame.self, frame, value, payload)
  }

  /** Runs the code at `code` as `frame`. */
  #execute(code: Hex, frame: Frame, value: bigint, payload: Payload): void {
    if (code === this.#token) {
      // a delegated frame: the token refuses it
      if (frame.self !== this.#token) throw new FrameFailed()
      this.#runToken(frame, value, payload)
    } else if (this.#state.puppets.has(code)) {
      // anything else than steps is refused, but calldata without bytes is received
      if (payload !== undefined && 'steps' in payload) this.#runSteps(frame, payload.steps)
      else if (payload !== undefined && payload.token.name !== 'fallback') throw new FrameFailed()
    }
  }

  #runToken({ caller, isStatic }: Frame, value: bigint, payload: Payload): void {
    const token = this.#token
    // calldata with steps is an unknown function
    const call: TokenCall = payload === undefined || 'steps' in payload ? { name: 'fallback' } : payload.token
    if (isStatic && call.name !== 'balanceOf') throw new FrameFailed()
    if (value > 0n && call.name !== 'deposit' && call.name !== 'fallback') throw new FrameFailed()
    switch (call.name) {
      case 'deposit':
      case 'fallback':
        this.#move(token, caller, value)
        this.#log(DEPOSIT, [caller], value)
        break
      case 'withdraw':
        if (this.#balance(caller) < call.amount) throw new FrameFailed()
        this.#log(WITHDRAWAL, [caller], call.amount)
        break
      case 'approve':
        this.#approve(caller, call.to, call.amount)
        break
      case 'transferFrom': {
        const allowance = this.#state.allowances.get(`${call.from}:${caller}`) ?? 0n
        if (allowance < call.amount) throw new FrameFailed()
        if (allowance !== maxUint256) this.#approve(call.from, caller, allowance - call.amount)
        this.#transfer(call.from, call.to, call.amount)
        break
      }
      case 'transfer':
        this.#transfer(caller, call.to, call.amount)
        break
    }
  }

  #approve(owner: Hex, spender: Hex, amount: bigint): void {
    if (spender === zeroAddress || owner === zeroAddress) throw new FrameFailed()
    this.#state.allowances.set(`${owner}:${spender}`, amount)
    this.#log(APPROVAL, [owner, spender], amount)
  }

  #transfer(from: Hex, to: Hex, amount: bigint): void {
    if (from === zeroAddress || to === zeroAddress || to === this.#token) throw new FrameFailed()
    this.#move(from, to, amount)
    this.#log(TRANSFER, [from, to], amount)
  }

  #runSteps(frame: Frame, steps: readonly Step[]): void {
    let lastCreated = LAST_CREATED
    const resolve = (target: Hex) => (target === LAST_CREATED ? lastCreated : target === SELF ? frame.self : target)
    for (const step of steps) {
      switch (step.kind) {
        case 'revert':
          throw new FrameFailed()
        case 'selfDestruct':
          this.#selfDestruct(frame, resolve(step.target))
          throw new FrameEnded()
        case 'create':
          if (frame.isStatic) throw new FrameFailed()
          lastCreated = this.#createBy(frame.self, step.value, step.steps) ?? zeroAddress
          if (lastCreated === zeroAddress && step.must) throw new FrameFailed()
          break
        case 'call': {
          if (frame.isStatic && step.value > 0n) throw new FrameFailed()
          const inner = { self: resolve(step.target), caller: frame.self, isStatic: frame.isStatic }
          const ok = this.#attempt(() => this.#call(inner, step.value, step.payload))
          if (!ok && step.must) throw new FrameFailed()
          break
        }
        case 'staticCall': {
          const inner = { self: resolve(step.target), caller: frame.self, isStatic: true }
          const ok = this.#attempt(() => this.#call(inner, 0n, step.payload))
          if (!ok && step.must) throw new FrameFailed()
          break
        }
        case 'delegateCall': {
          const code = resolve(step.target)
          if (!this.#attempt(() => this.#execute(code, frame, 0n, step.payload)) && step.must) throw new FrameFailed()
          break
        }
      }
    }
  }

  #selfDestruct({ self, isStatic }: Frame, beneficiary: Hex): void {
    if (isStatic) throw new FrameFailed()
    const amount = this.#balance(self)
    const isNew = this.#state.created.has(self)
    if (self !== beneficiary) this.#move(self, beneficiary, amount)
    else if (isNew) {
      this.#state.burnt += amount
      this.#add(self, -amount)
    }
    if (isNew) this.#state.destroyed.add(self)
  }

  /** The address, or undefined when it failed. A creator that cannot pay keeps its nonce. */
  #createBy(creator: Hex, value: bigint, steps: readonly Step[]): Hex | undefined {
    if (this.#balance(creator) < value) return undefined
    const nonce = this.#state.nonces.get(creator) ?? 0
    this.#state.nonces.set(creator, nonce + 1)
    return this.#create(creator, nonce, value, steps)
  }

  #create(creator: Hex, nonce: number, value: bigint, steps: readonly Step[]): Hex | undefined {
    const address = getContractAddress({ from: creator, nonce: BigInt(nonce) }).toLowerCase() as Hex
    const ok = this.#attempt(() => {
      this.#state.created.add(address)
      this.#state.nonces.set(address, 1)
      this.#move(creator, address, value)
      this.#runSteps({ self: address, caller: creator, isStatic: false }, steps)
      this.#state.puppets.add(address)
    })
    return ok ? address : undefined
  }
}
