import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildTransaction } from '../../../../src/chain/block/transaction.ts'
import { bigIntToBytes, bytesToHex } from '../../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../../src/primitives/hash.ts'
import { METHODS } from '../../../../src/rpc/jsonrpc/methodTable.ts'
import { type Anvil, hasAnvil, startAnvil } from '../../../anvil/startAnvil.ts'
import type { FuzzCase } from '../../../fuzz/fuzzCase.ts'
import { generateCase } from '../../../fuzz/generateCase.ts'
import { SENDER } from '../../../fuzz/population.ts'
import { invoke } from '../../../support/rpc/invoke.ts'
import { createMemoryNode } from '../../../support/rpc/memoryNode.ts'

/*
 * Calls and changes of the state of random programs, beside those that anvil (revm) tells of. Programs that see another block there, and so use
 * other gas, are left out. What is known to differ, and by which rule here:
 *
 * - some errors have no words of Parity's in anvil, but names of revm's own; revm takes a DUP of too little for too much on the stack;
 * - where an opcode fails for two reasons, revm may find the other first;
 * - `trace_transaction` of anvil counts calls to precompiles that it does not show;
 * - of a contract that destroys itself for itself, anvil tells other addresses;
 * - of a creation that reverted, anvil tells the address that the contract would have had;
 * - an account that anvil has looked at before was there for it: what it gets is `*`, here `+`.
 */
const SEED = 7
const CASES = Number(process.env.TRACE_CASES ?? 120)
const BASE_FEE = 1_000_000_000n
/** A transaction may use no more (EIP-7825). */
const MAX_GAS = 16_777_216n

const ERRORS: ReadonlyMap<string, string> = new Map([
  ['CreateCollision', 'Contract address collision'],
  ['NotActivated', 'Bad instruction'],
  ['InvalidFEOpcode', 'Bad instruction'],
  ['StackUnderflow', 'Stack underflow'],
  ['Out of stack', 'Stack underflow'],
  ['StateChangeDuringStaticCall', 'Mutable Call In Static Context'],
  ['CallNotAllowedInsideStatic', 'Mutable Call In Static Context'],
  ['CreateContractStartingWithEF', 'Invalid code'],
  ['CreateInitCodeSizeLimit', 'Out of gas'],
  ['CreateContractSizeLimit', 'Out of gas'],
  ['PrecompileOOG', 'Out of gas'],
  ['OutOfFunds', 'Insufficient balance for transfer'],
  ['CallTooDeep', 'Max call depth exceeded'],
  ['OutOfOffset', 'Out of bounds'],
  ['NonceOverflow', 'Nonce overflow'],
])

interface Answer {
  readonly output: string
  readonly trace: readonly {
    readonly type: string
    readonly action: Addresses
    readonly result: unknown
    readonly error?: string
  }[]
  readonly stateDiff: Readonly<Record<string, unknown>>
}

const TYPES = ['trace', 'stateDiff']
const quantity = (value: bigint): string => `0x${value.toString(16)}`

describe.skipIf(!hasAnvil())('beside anvil', () => {
  let anvil: Anvil
  beforeAll(async () => {
    anvil = await startAnvil({ chainId: 7628n, hardfork: 'osaka' })
  })
  afterAll(() => anvil.stop())

  test(`the traces of ${CASES} random programs are equal`, async () => {
    let compared = 0
    for (let index = 0; index < CASES; index++) {
      const fuzzCase = generateCase(SEED, index)
      const [message] = fuzzCase.messages
      if (fuzzCase.fork !== 'osaka' || message!.blobHashes.length > 0 || message!.gasLimit > MAX_GAS) continue
      const theirs = await askAnvil(anvil, fuzzCase)
      const ours = theirs === undefined ? undefined : await runHere(fuzzCase)
      if (theirs === undefined || ours === undefined || theirs.gasUsed !== ours.gasUsed) continue
      compared++
      expect({ index, output: ours.answer.output }).toEqual({ index, output: theirs.answer.output })
      const isShown = ours.answer.trace.map(({ type, action }) => type !== 'suicide' || !isOntoItself(action))
      expect({ index, trace: comparable(ours.answer.trace, isShown) }).toEqual({
        index,
        trace: comparable(theirs.answer.trace, isShown),
      })
      expect({ index, diff: bornAsChanged(ours.answer.stateDiff) }).toEqual({
        index,
        diff: bornAsChanged(theirs.answer.stateDiff),
      })
    }
    expect(compared).toBeGreaterThan(CASES / 4)
  })
})

/** Errors by the words that both have; of others only that there is one. Of an action only what is to be shown. */
function comparable(traces: Answer['trace'], isShown: readonly boolean[]): unknown[] {
  const known = new Set(['Reverted', ...ERRORS.values()])
  return traces.map(({ error, action, result, ...trace }, index) => {
    const translated = error === undefined ? undefined : (ERRORS.get(error) ?? error)
    const isAmbiguous = translated === 'Out of gas' || translated === 'Mutable Call In Static Context'
    return {
      ...trace,
      action: isShown[index] === true ? action : undefined,
      result: trace.type === 'create' && error !== undefined ? undefined : result,
      error: isAmbiguous || !known.has(translated ?? '') ? translated !== undefined : translated,
    }
  })
}

type Addresses = Readonly<Record<string, unknown>>

function isOntoItself({ address, refundAddress }: Addresses): boolean {
  return address === refundAddress
}

/** An account that is new as one that had nothing. */
function bornAsChanged(diff: Answer['stateDiff']): unknown {
  const text = JSON.stringify(diff, (key, value: unknown) => {
    if (typeof value !== 'object' || value === null || !('+' in value)) return value
    const to = value['+']
    const from = typeof to === 'string' && to.length === 66 ? `0x${'0'.repeat(64)}` : to === '0x' ? '0x' : '0x0'
    return from === to || key === 'code' ? '=' : { '*': { from, to } }
  })
  return JSON.parse(text, (key, value: unknown) => (key === 'code' ? undefined : value))
}

/** What anvil answers; undefined when it does not take the transaction. */
async function askAnvil(anvil: Anvil, { accounts, messages }: FuzzCase) {
  const { ask } = anvil
  const message = messages[0]!
  const from = bytesToHex(SENDER)
  await ask('anvil_reset')
  for (const { address, balance, nonce, code, storage } of accounts) {
    const name = bytesToHex(address)
    await ask('anvil_setBalance', name, quantity(balance))
    if (nonce > 0n) await ask('anvil_setNonce', name, quantity(nonce))
    if (code.length > 0) await ask('anvil_setCode', name, bytesToHex(code))
    for (const [slot, value] of storage) {
      await ask('anvil_setStorageAt', name, bytesToHex(bigIntToBytes(slot, 32)), bytesToHex(bigIntToBytes(value, 32)))
    }
  }
  await ask('anvil_setCoinbase', `0x${'00'.repeat(20)}`)
  await ask('anvil_impersonateAccount', from)
  await ask('anvil_setNextBlockBaseFeePerGas', quantity(BASE_FEE))
  const hash = await ask<string>('eth_sendTransaction', {
    from,
    ...(message.to === undefined ? {} : { to: bytesToHex(message.to) }),
    value: quantity(message.value),
    data: bytesToHex(message.data),
    gas: quantity(message.gasLimit),
    maxFeePerGas: quantity(BASE_FEE),
    maxPriorityFeePerGas: '0x0',
    accessList: message.accessList.map(({ address, storageKeys }) => ({
      address: bytesToHex(address),
      storageKeys: storageKeys.map(bytesToHex),
    })),
  }).catch(() => undefined)
  if (hash === undefined) return undefined
  await ask('anvil_mine', '0x1')
  const receipt = await ask<{ gasUsed: string; blockNumber: string } | null>('eth_getTransactionReceipt', hash)
  if (receipt === null) return undefined
  const [answer] = await ask<Answer[]>('trace_replayBlockTransactions', receipt.blockNumber, TYPES)
  return { gasUsed: BigInt(receipt.gasUsed), answer: answer! }
}

/** The same transaction in a block of this implementation; undefined when it cannot be in one. */
async function runHere({ accounts, messages }: FuzzCase) {
  const message = messages[0]!
  const node = await createMemoryNode({
    accounts: accounts.map(({ address, nonce, balance, code, storage }) => ({
      address,
      nonce,
      balance,
      code,
      storage: Object.fromEntries(storage.map(([slot, value]) => [slot.toString(), value])),
    })),
  })
  const unsigned = buildTransaction({
    type: 2,
    chainId: node.chain.evmChainId,
    nonce: accounts.find(({ address }) => bytesToHex(address) === bytesToHex(SENDER))?.nonce ?? 0n,
    gasLimit: message.gasLimit,
    maxFeePerGas: BASE_FEE,
    to: message.to,
    value: message.value,
    data: message.data,
    accessList: message.accessList,
  })
  const raw = keccak256(message.data)
  const transaction = { ...unsigned, raw, hash: keccak256(raw), v: 0n, r: 1n, s: 1n, yParity: 0 } as const
  const { receipts } = await node.produce([{ transaction, sender: SENDER }])
  if (receipts[0] === undefined) return undefined
  const replay = METHODS.get('trace_replayBlockTransactions')!
  const [answer] = (await invoke(replay, node.context(), '0x1', TYPES)) as Answer[]
  return { gasUsed: receipts[0].gasUsed, answer: answer! }
}
