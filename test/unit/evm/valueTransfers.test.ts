import { describe, expect, it } from 'vitest'
import { evmTransfers, type ValueTransfer } from '../../../src/chain/block/entries.ts'
import { logsBloom, type Receipt } from '../../../src/chain/block/receipt.ts'
import type { Transaction } from '../../../src/chain/block/transaction.ts'
import type { Engine } from '../../../src/evm/engine.ts'
import { applyCall, applyTransaction } from '../../../src/evm/transition.ts'
import { nativeToken } from '../../../src/modules/bank/precompile/nativeToken.ts'
import { bytesKey, bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { ZERO_HASH } from '../../../src/primitives/hash.ts'
import { Journal } from '../../../src/state/journal.ts'
import { stateOf } from '../../fuzz/fuzzCase.ts'
import { generateCase } from '../../fuzz/generateCase.ts'
import { SENDER as FUZZ_SENDER } from '../../fuzz/population.ts'
import { BLOCK as FUZZ_BLOCK } from '../../fuzz/runCase.ts'
import { CONTRACT, callOf, contextOn, ENGINES, OTHER, stateWith } from '../../support/evm/evmFixture.ts'

const hex = (number: number | bigint, bytes: number): string => number.toString(16).padStart(bytes * 2, '0')
const OTHER_HEX = bytesToHex(OTHER).slice(2)
const SELF_HEX = bytesToHex(CONTRACT).slice(2)

/** CALL (f1) or CALLCODE (f2) with a value and all gas; its answer stays on the stack. */
const call = (value: number, to: string, kind = 'f1'): string =>
  `6000600060006000${`61${hex(value, 2)}`}73${to}5a${kind}`
const revert = '60006000fd'
/** Init code that deploys nothing, from memory. */
const create = (value: number): string => `6000600061${hex(value, 2)}f0`
/** CREATE of init code that reverts. */
const createReverting = (value: number): string => `6460006000fd600052600560${hex(27, 1)}61${hex(value, 2)}f0`
const selfDestruct = (to: string): string => `73${to}ff`
/** DELEGATECALL to OTHER */
const delegate = `6000600060006000${'73'}${OTHER_HEX}5af4`

const RICH_CONTRACT = 1_000n

const CASES: readonly { what: string; code: string; other?: string; value?: bigint; moved: string[] }[] = [
  { what: 'nothing', code: '00', value: 7n, moved: [] },
  { what: 'calls', code: call(3, OTHER_HEX) + call(4, OTHER_HEX), moved: ['contract>other:3', 'contract>other:4'] },
  { what: 'a call without value', code: call(0, OTHER_HEX), moved: [] },
  { what: 'a call of itself', code: `36600d57${'60006000600160006005'}305af15b00`, moved: [] },
  { what: 'CALLCODE, which moves nothing', code: call(3, OTHER_HEX, 'f2'), moved: [] },
  { what: 'more than there is', code: call(2_000, OTHER_HEX), moved: [] },
  { what: 'a call that reverts', code: call(3, OTHER_HEX) + call(1, OTHER_HEX), other: revert, moved: [] },
  { what: 'a run that reverts', code: call(3, OTHER_HEX) + revert, value: 9n, moved: [] },
  {
    what: 'what the callee sends on',
    code: call(5, OTHER_HEX),
    other: call(2, SELF_HEX.replace(/.$/, '9')),
    moved: ['contract>other:5', 'other>2222222222222222222222222222222222222229:2'],
  },
  { what: 'code that another account lends', code: delegate, other: call(6, OTHER_HEX), moved: ['contract>other:6'] },
  { what: 'a creation', code: create(8), moved: ['contract>created:8'] },
  { what: 'a creation that reverts', code: createReverting(8), moved: [] },
  { what: 'a self-destruct', code: selfDestruct(OTHER_HEX), moved: ['contract>other:1000'] },
  {
    what: 'a self-destruct with the value of the message',
    code: selfDestruct(OTHER_HEX),
    value: 5n,
    moved: ['contract>other:1005'],
  },
  { what: 'a self-destruct to itself', code: selfDestruct(SELF_HEX), moved: [] },
]

function nameOf(address: Uint8Array): string {
  const text = bytesToHex(address).slice(2)
  if (text === SELF_HEX) return 'contract'
  return text === OTHER_HEX ? 'other' : text
}

function textOf({ from, to, amountAcoin }: ValueTransfer): string {
  return `${nameOf(from)}>${nameOf(to)}:${amountAcoin}`
}

describe.each(ENGINES.map((engine) => [engine.name, engine] as const))('coins that code moves on %s', (_, engine) => {
  it.each(CASES)('$what', async ({ code, other, value = 0n, moved }) => {
    const state = stateWith(code)
    state.setAccount(CONTRACT, { nonce: 1n, balance: RICH_CONTRACT, code: Buffer.from(code, 'hex') })
    if (other !== undefined) state.setAccount(OTHER, { nonce: 1n, code: Buffer.from(other, 'hex') })
    const outcome = await applyCall({ ...contextOn(state, { engine }), call: callOf({ value }) })
    if (outcome.kind === 'skipped') throw new Error(outcome.reason)
    const created = /created/.test(moved.join())
    const texts = outcome.transfers.map(textOf)
    expect(created ? texts.map((text) => text.replace(/>[0-9a-f]{40}:/, '>created:')) : texts).toEqual(moved)
  })

  it('are all that balances change by, with fees: whatever the code', async () => {
    let moving = 0
    for (let index = 0; index < 250; index++) if (await movesWhatItSays(generateCase(11, index), engine)) moving++
    expect(moving).toBeGreaterThan(40)
  })
})

/** Runs the first transaction of a case of the fuzzer; gives whether it moved coins and was compared. */
async function movesWhatItSays(fuzzCase: ReturnType<typeof generateCase>, engine: Engine): Promise<boolean> {
  const { fork } = fuzzCase
  const { to, value, data, gasLimit, accessList } = fuzzCase.messages[0]!
  const world = new Journal(stateOf(fuzzCase))
  const before = new Journal(stateOf(fuzzCase))
  const transaction: Transaction = {
    type: 2,
    hash: ZERO_HASH,
    raw: ZERO_HASH,
    chainId: 7628n,
    nonce: world.getNonce(FUZZ_SENDER),
    gasLimit,
    maxFeePerGas: 20n,
    maxPriorityFeePerGas: 2n,
    to,
    value,
    data,
    accessList,
    authorizationList: [],
    maxFeePerBlobGas: 0n,
    blobVersionedHashes: [],
    v: 0n,
    yParity: 0,
    r: 1n,
    s: 1n,
  }
  const outcome = await applyTransaction({
    world,
    block: FUZZ_BLOCK,
    rules: { fork, chainId: 7628n },
    engine,
    precompiles: new Map([[bytesKey(nativeToken.address), nativeToken]]),
    transaction,
    sender: FUZZ_SENDER,
  })
  // Coins that a rule destroys have no receiver.
  if (outcome.kind === 'skipped' || outcome.burns.length > 0) return false
  const { gasUsed, effectiveGasPrice, logs, transfers, events } = outcome
  const receipt: Receipt = {
    type: 2,
    status: outcome.status === 'success' ? 1 : 0,
    gasUsed,
    cumulativeGasUsed: gasUsed,
    effectiveGasPrice,
    logs,
    logsBloom: logsBloom(logs),
    contractAddress: outcome.createdAddress,
    blobGasUsed: undefined,
    blobGasPrice: undefined,
  }
  const signed = { transaction, sender: FUZZ_SENDER }
  const moved = evmTransfers({ kind: 'evm', index: 0, signed, receipt, transfers, events })

  const expected = new Map<string, bigint>()
  const add = (address: Uint8Array, amount: bigint): void => {
    const key = bytesToHex(address)
    expected.set(key, (expected.get(key) ?? before.getBalance(address)) + amount)
  }
  for (const { address } of world.changes().accounts) add(address, 0n)
  add(FUZZ_SENDER, -gasUsed * effectiveGasPrice)
  for (const { from, to: receiver, amountAcoin } of moved) {
    add(from, -amountAcoin)
    add(receiver, amountAcoin)
  }
  const actual = [...expected.keys()].map((key) => [key, world.getBalance(hexToBytes(key))] as const)
  expect(new Map(actual)).toEqual(expected)
  return moved.length > 0
}
