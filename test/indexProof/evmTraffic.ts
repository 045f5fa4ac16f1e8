import { setTimeout as sleep } from 'node:timers/promises'
import { type Abi, encodeAbiParameters, encodeFunctionData, type Hex } from 'viem'
import { type Account, accountOf, FUNDER, GWEI, sign } from '../../bench/load/sign.ts'
import { compileContract } from '../../contracts/compile.ts'
import precompileAbis from '../../explorer/web/src/abi/precompiles.json' with { type: 'json' }
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import { COIN, NATIVE_TOKEN } from '../e2e/devChain.ts'
import { JsonRpcError, mined, rpc, rpcBatch } from '../e2e/rpc.ts'

/* Random EVM transactions of every kind, from many accounts, each of which has its transactions in blocks before it sends more. */

const contractOf = (file: string, name: string) => compileContract(file, name) as unknown as { abi: Abi; bytecode: Hex }
const SAMPLE = contractOf('test/SampleToken.sol', 'SampleToken')
const NFT = contractOf('test/SampleCollections.sol', 'SampleNft')
const ITEMS = contractOf('test/SampleCollections.sol', 'SampleItems')
const WRAPPED = contractOf('WrappedCoin.sol', 'WrappedCoin')
const PUPPET = contractOf('test/Puppet.sol', 'Puppet')
const STAKING = '0x0000000000000000000000000000000000000800'
const DISTRIBUTION = '0x0000000000000000000000000000000000000801'
const abiOf = (address: keyof typeof precompileAbis): Abi => precompileAbis[address] as unknown as Abi
const TOKEN_ABI = abiOf('0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee')
const STEPS = { call: 0, staticCall: 1, delegateCall: 2, create: 3, selfDestruct: 4, revert: 5 } as const
/** Of Puppet.sol: what the latest creation gave, and the account that runs. */
const LAST_CREATED = '0x000000000000000000000000000000000c4ea7ed'
const SELF = '0x0000000000000000000000000000000000005e1f'
/** Puppets that are there from the beginning. */
const PUPPETS = 8
const FUNDS = 1_000n * COIN
/** Hex digits of a transaction's data. */
const MAX_DATA = 60_000
/** Requests of a batch. */
const BATCH = 100
/** Transactions that are in no block after this time are sent again: the node was killed. */
const AGAIN_MS = 4_000
const POLL_MS = 50

export type Random = (below: number) => number

interface Worker {
  readonly account: Account
  readonly address: Hex
  nonce: number
}

interface Call {
  readonly to?: Hex
  readonly data?: Hex
  readonly value?: bigint
  readonly gas?: bigint
}

export interface EvmTraffic {
  /** accounts that send, with how many transactions each has in blocks */
  readonly workers: readonly { readonly address: Hex; readonly nonce: number }[]
  readonly tokens: readonly {
    readonly address: Hex
    readonly abi: Abi
    readonly kind: 'erc20' | 'erc721' | 'erc1155'
  }[]
  /** Sends `each` transactions of every worker; resolves when all are in blocks. */
  round(each: number): Promise<void>
}

/**
 * @param url of the node now: it may be killed and started again
 * @param validators operators, as `coinvaloper1…`
 */
export async function createEvmTraffic(
  url: () => string,
  random: Random,
  workerCount: number,
  validators: () => readonly string[],
): Promise<EvmTraffic> {
  const workers: Worker[] = Array.from({ length: workerCount }, (_, index) => {
    const account = accountOf(`index proof ${index}`)
    return { account, address: bytesToHex(account.address), nonce: 0 }
  })
  const funder: Worker = {
    account: FUNDER,
    address: bytesToHex(FUNDER.address),
    nonce: Number(await rpc<Hex>(url(), 'eth_getTransactionCount', bytesToHex(FUNDER.address), 'latest')),
  }
  const signed = (worker: Worker, { to, data = '0x', value = 0n, gas = 21_000n }: Call): string =>
    sign(worker.account, {
      nonce: BigInt(worker.nonce++),
      to: to === undefined ? undefined : hexToBytes(to),
      data: hexToBytes(data),
      value,
      gasLimit: gas,
      maxFeePerGas: 100n * GWEI,
      maxPriorityFeePerGas: 1n + BigInt(random(3)) * GWEI,
    }).raw
  const deploy = async (worker: Worker, data: Hex, value = 0n): Promise<Hex> => {
    const hash = await rpc<Hex>(url(), 'eth_sendRawTransaction', signed(worker, { data, value, gas: 5_000_000n }))
    return (await mined(url(), hash)).contractAddress!
  }
  await sendAll(
    url,
    workers.map(({ address }) => signed(funder, { to: address, value: FUNDS })),
  )
  await untilMined(url, [funder], () => [])
  const own = workers[0]!
  const withArguments = ({ bytecode }: { bytecode: Hex }, types: readonly string[], values: readonly unknown[]): Hex =>
    `${bytecode}${encodeAbiParameters(types.map((type) => ({ type })) as never, values as never).slice(2)}`
  const sample = await deploy(
    own,
    withArguments(SAMPLE, ['string', 'string', 'uint256'], ['Sample', 'SMPL', 10n ** 24n]),
  )
  const nft = await deploy(own, NFT.bytecode)
  const items = await deploy(own, ITEMS.bytecode)
  const wrapped = await deploy(own, WRAPPED.bytecode)
  const puppets: Hex[] = []
  for (let made = 0; made < PUPPETS; made++) puppets.push(await deploy(own, initCode([]), 10n * COIN))

  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!
  const freshAddress = (): Hex =>
    bytesToHex(keccak256(new TextEncoder().encode(`${random(2 ** 31)} ${random(2 ** 31)}`)).subarray(0, 20))
  /** Anybody: who sends, nobody yet, contracts, precompiles. */
  const anybody = (): Hex => {
    const kind = random(20)
    if (kind < 12) return pick(workers).address
    if (kind < 16) return freshAddress()
    if (kind < 18) return pick(puppets)
    return pick([sample, wrapped, NATIVE_TOKEN, STAKING, `0x${'00'.repeat(19)}0${1 + random(9)}` as Hex])
  }
  let nextId = 1n
  const owned: { readonly id: bigint; owner: Hex }[] = []
  const call = (to: Hex, abi: Abi, functionName: string, args: readonly unknown[], more: Partial<Call> = {}): Call => ({
    to,
    data: encodeFunctionData({ abi, functionName, args }),
    gas: 300_000n,
    ...more,
  })

  const steps = (depth: number): readonly Step[] =>
    Array.from({ length: 1 + random(4) }, (): Step => {
      const mustSucceed = random(4) === 0
      const value = random(3) === 0 ? BigInt(random(1_000)) : 0n
      switch (random(depth > 2 ? 5 : 9)) {
        case 0:
          return { kind: STEPS.call, target: anybody(), value, data: '0x', mustSucceed }
        case 1: {
          const data = encodeFunctionData({
            abi: TOKEN_ABI,
            functionName: 'transfer',
            args: [anybody(), BigInt(random(500))],
          })
          return { kind: STEPS.call, target: NATIVE_TOKEN, value: 0n, data, mustSucceed }
        }
        case 2: {
          const data = encodeFunctionData({ abi: WRAPPED.abi, functionName: 'deposit', args: [] })
          return { kind: STEPS.call, target: wrapped, value, data, mustSucceed }
        }
        case 3:
          return random(3) === 0
            ? { kind: STEPS.revert, target: SELF, value: 0n, data: '0x', mustSucceed }
            : { kind: STEPS.call, target: SELF, value: 1n, data: '0x', mustSucceed }
        case 4:
          return {
            kind: STEPS.selfDestruct,
            target: pick([SELF, anybody(), LAST_CREATED]),
            value: 0n,
            data: '0x',
            mustSucceed,
          }
        case 5:
          return { kind: STEPS.create, target: SELF, value, data: initCode(steps(depth + 1)), mustSucceed }
        case 6:
          return {
            kind: STEPS.delegateCall,
            target: pick(puppets),
            value: 0n,
            data: runData(steps(depth + 1)),
            mustSucceed,
          }
        default:
          return {
            kind: STEPS.call,
            target: pick([LAST_CREATED, pick(puppets)]),
            value,
            data: runData(steps(depth + 1)),
            mustSucceed,
          }
      }
    })

  const stake = (me: Hex): Call => {
    const validator = pick(validators())
    const amount = COIN + BigInt(random(1_000))
    const gas = { gas: 1_000_000n }
    const staking = abiOf(STAKING)
    switch (random(5)) {
      case 0:
        return call(STAKING, staking, 'undelegate', [me, validator, amount / 2n], gas)
      case 1:
        return call(STAKING, staking, 'redelegate', [me, validator, pick(validators()), amount / 2n], gas)
      case 2:
        return call(DISTRIBUTION, abiOf(DISTRIBUTION), 'withdrawDelegatorRewards', [me, validator], gas)
      default:
        return call(STAKING, staking, 'delegate', [me, validator, amount], gas)
    }
  }

  const token = (me: Hex): Call => {
    const amount = BigInt(random(1_000))
    switch (random(10)) {
      case 0:
        return call(sample, SAMPLE.abi, 'approve', [anybody(), amount])
      case 1:
        return call(sample, SAMPLE.abi, 'transferFrom', [anybody(), anybody(), amount])
      case 2: {
        const id = nextId++
        owned.push({ id, owner: me })
        return call(nft, NFT.abi, 'mint', [me, id])
      }
      case 3: {
        const item = owned.length === 0 ? { id: 1n, owner: me } : pick(owned)
        const to = anybody()
        const sent = call(nft, NFT.abi, 'transferFrom', [item.owner, to, item.id])
        if (item.owner === me) item.owner = to
        return sent
      }
      case 4:
        return call(items, ITEMS.abi, 'mintBatch', [me, [BigInt(random(5)), 7n], [amount, 1n]])
      case 5:
        return call(items, ITEMS.abi, 'safeTransferFrom', [
          me,
          pick(workers).address,
          BigInt(random(5)),
          amount / 4n,
          '0x',
        ])
      case 6:
        return call(wrapped, WRAPPED.abi, 'deposit', [], { value: amount })
      case 7:
        return call(wrapped, WRAPPED.abi, 'withdraw', [amount / 2n])
      case 8:
        return call(wrapped, WRAPPED.abi, 'transfer', [anybody(), amount / 2n])
      default:
        return call(sample, SAMPLE.abi, 'transfer', [anybody(), amount])
    }
  }

  const randomCall = (me: Hex): Call => {
    const kind = random(100)
    if (kind < 35) return { to: anybody(), value: BigInt(random(10_000)), gas: 100_000n }
    if (kind < 38) return { to: me, value: 1n }
    if (kind < 63) return token(me)
    if (kind < 68) return call(NATIVE_TOKEN, TOKEN_ABI, 'transfer', [anybody(), BigInt(random(1_000))])
    if (kind < 70) return call(NATIVE_TOKEN, TOKEN_ABI, 'transferFrom', [anybody(), me, 5n])
    if (kind < 72) return call(NATIVE_TOKEN, TOKEN_ABI, 'approve', [pick(workers).address, 1_000n])
    if (kind < 92) return { to: pick(puppets), data: runData(steps(0)), value: BigInt(random(2_000)), gas: 3_000_000n }
    if (kind < 94) return { data: initCode(steps(1)), value: BigInt(random(100)), gas: 3_000_000n }
    if (kind < 96) {
      const data = runData(steps(0))
      // Enough to begin, and seldom enough to end.
      return { to: pick(puppets), data, gas: BigInt(30_000 + 21 * data.length) }
    }
    return stake(me)
  }

  return {
    workers,
    tokens: [
      { address: sample, abi: SAMPLE.abi, kind: 'erc20' },
      { address: wrapped, abi: WRAPPED.abi, kind: 'erc20' },
      { address: nft, abi: NFT.abi, kind: 'erc721' },
      { address: items, abi: ITEMS.abi, kind: 'erc1155' },
    ],
    round: async (each) => {
      // Nonce by nonce, so that all have some in each block.
      const raws: string[] = []
      // The first sample tokens come to others.
      if (own.nonce < 20)
        for (const { address } of workers)
          raws.push(signed(own, call(sample, SAMPLE.abi, 'transfer', [address, 10n ** 20n])))
      for (let sent = 0; sent < each; sent++)
        for (const worker of workers) {
          const random = randomCall(worker.address)
          const isTooLong = (random.data ?? '').length > MAX_DATA
          raws.push(signed(worker, isTooLong ? { to: worker.address } : random))
        }
      await sendAll(url, raws)
      await untilMined(url, workers, () => raws)
    },
  }
}

interface Step {
  readonly kind: number
  readonly target: Hex
  readonly value: bigint
  readonly data: Hex
  readonly mustSucceed: boolean
}

const withGas = (steps: readonly Step[]) => steps.map((step) => ({ ...step, gas: 500_000n }))
const runData = (steps: readonly Step[]): Hex =>
  encodeFunctionData({ abi: PUPPET.abi, functionName: 'run', args: [withGas(steps)] })

/** Init code of a puppet that does these steps while it is created. */
function initCode(steps: readonly Step[]): Hex {
  const { inputs } = PUPPET.abi.find(({ type }) => type === 'constructor') as unknown as { inputs: [] }
  return `${PUPPET.bytecode}${encodeAbiParameters(inputs, [withGas(steps)] as never).slice(2)}`
}

/** Refusals of a transaction that the node has, or has had in a block. */
const KNOWN = /already known|nonce too low/

/** @throws Error when the node refuses one for another reason than that it knows it; a node that is not there is no failure */
async function sendAll(url: () => string, raws: readonly string[]): Promise<void> {
  for (let at = 0; at < raws.length; at += BATCH) {
    const calls = raws.slice(at, at + BATCH).map((raw) => ({ method: 'eth_sendRawTransaction', params: [raw] }))
    // The node may have been killed just now.
    const answers = await rpcBatch(url(), calls).catch(() => [])
    const refusal = answers.find((answer) => answer instanceof JsonRpcError && !KNOWN.test(answer.message))
    if (refusal !== undefined) throw refusal
  }
}

/** Waits until the accounts have as many transactions in blocks as they sent, and sends again what got lost. */
async function untilMined(url: () => string, workers: readonly Worker[], raws: () => readonly string[]): Promise<void> {
  let progressMs = performance.now()
  let known = -1
  for (;;) {
    await sleep(POLL_MS)
    const calls = workers.map(({ address }) => ({ method: 'eth_getTransactionCount', params: [address, 'latest'] }))
    const counts = await rpcBatch(url(), calls).catch(() => undefined)
    if (counts === undefined) continue
    const total = counts.reduce<number>((sum, count) => sum + Number(count), 0)
    if (total === workers.reduce((sum, { nonce }) => sum + nonce, 0)) return
    if (total !== known) progressMs = performance.now()
    else if (performance.now() - progressMs > AGAIN_MS) {
      await sendAll(url, raws())
      progressMs = performance.now()
    }
    known = total
  }
}
