import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { checkInvariants, type InvariantReport } from '../../../src/datadir/checkInvariants.ts'
import { copyDatabase } from '../../../src/datadir/copyDatabase.ts'
import { MsgSend } from '../../../src/modules/bank/messages.ts'
import { MsgCreateVestingAccount } from '../../../src/modules/vesting/types.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { accountKey, decodeAccount, encodeAccount, nativeKey } from '../../../src/state/flatState.ts'
import { vestingFilterOf } from '../../../src/state/vesting.ts'
import { createViewCaches, openView } from '../../../src/state/view.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Database } from '../../../src/storage/database.ts'
import { anyOf, signTestTransaction } from '../../native/signTransaction.ts'
import { createTestChain, type TestChain, WALLET, WALLET_KEY } from '../../support/execution/testChain.ts'

let chain: TestChain
let directory: string
let copies = 0

beforeEach(async () => {
  chain = await createTestChain()
  directory = mkdtempSync(join(tmpdir(), 'coind-copies-'))
})

afterEach(async () => {
  await chain.close()
  rmSync(directory, { recursive: true })
})

function send(sequence: number): Uint8Array {
  const from = toBech32(WALLET)
  const message = {
    fromAddress: from,
    toAddress: toBech32(new Uint8Array(20).fill(9)),
    amount: [{ denom: 'acoin', amount: 5n }],
  }
  const signer = { privateKey: hexToBytes(WALLET_KEY), sequence }
  return signTestTransaction({ messages: [anyOf(MsgSend, message)], signers: [signer] })
}

/** What a copy of the chain's database says, after `change` of it. */
async function checkCopy(change: (copy: Database) => Promise<void> = async () => undefined): Promise<InvariantReport> {
  const location = join(directory, String(++copies))
  await copyDatabase(chain.location, location)
  const copy = await Database.open(location)
  try {
    await change(copy)
    return await checkInvariants(openView(copy, createViewCaches()))
  } finally {
    await copy.close()
  }
}

it('finds nothing wrong, in a copy that is made while blocks are written', async () => {
  expect(await checkCopy()).toMatchObject({ height: 0, problems: [] })
  let isDone = false
  const producing = (async () => {
    for (let sequence = 0; sequence < 15; sequence++) await chain.produce([send(sequence)])
    isDone = true
  })()
  const heights: number[] = []
  while (!isDone) {
    const report = await checkCopy()
    expect(report.problems).toEqual([])
    heights.push(report.height)
  }
  await producing
  expect(heights).toEqual([...heights].sort((a, b) => a - b))
  expect(await checkCopy()).toMatchObject({ height: 15, problems: [] })
})

it.each([1n, -1n])('finds %i acoin that came from nowhere or went there', async (amount) => {
  await chain.produce([send(0)])
  const report = await checkCopy(async (copy) => {
    const account = decodeAccount(copy.get(accountKey(WALLET))!)!
    const batch = new WriteBatch()
    batch.put(accountKey(WALLET), encodeAccount({ ...account, balance: account.balance + amount }))
    await copy.write(batch, { sync: false })
  })
  expect(report.problems).toEqual([
    expect.stringMatching(/^bank: the supply is \d+acoin, but the balances add up to \d+acoin$/),
  ])
})

it('finds that the locked coins of a vesting account could leave', async () => {
  const toAddress = toBech32(new Uint8Array(20).fill(9))
  const amount = [{ denom: 'acoin', amount: 5n }]
  const message = { fromAddress: toBech32(WALLET), toAddress, amount, endTime: 2_000_000_000n }
  const signer = { privateKey: hexToBytes(WALLET_KEY), sequence: 0 }
  await chain.produce([signTestTransaction({ messages: [anyOf(MsgCreateVestingAccount, message)], signers: [signer] })])
  expect((await checkCopy()).problems).toEqual([])
  const { problems } = await checkCopy(async (copy) => {
    const batch = new WriteBatch()
    for (const [key, value] of vestingFilterOf([WALLET])) batch.put(nativeKey(key), value)
    await copy.write(batch, { sync: false })
  })
  expect(problems).toEqual([`vesting account ${toAddress} is not in the filter: none of its coins are locked`])
})

it('is of the right number of accounts', async () => {
  const before = (await checkCopy()).accounts
  await chain.produce([send(0)])
  // the receiver, and the fee collector
  expect((await checkCopy()).accounts).toBe(before + 2)
})
