import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { ACCOUNTS, COIN, freshAddress, KEYS } from '../devChain.ts'
import { startNode, type TestNode } from '../startNode.ts'
import { type CliResult, runCli } from './runCli.ts'

/** A user at a terminal: keys in a keystore, transactions signed with them, queries of what came of it. */

const [alice, bob] = [0, 1].map((index) => toBech32(hexToBytes(ACCOUNTS[index]!.address))) as [string, string]
const validator = toBech32(hexToBytes(ACCOUNTS[0]!.address), 'coinvaloper')

let node: TestNode
let directory: string
let environment: Readonly<Record<string, string>>
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-cli-'))
  environment = { COIND_KEYSTORE: join(directory, 'keys'), COIND_KEY_PASSWORD: 'correct horse battery staple' }
  node = await startNode()
})
afterAll(async () => {
  await node?.stop()
  rmSync(directory, { recursive: true, force: true })
})

const cli = (...args: string[]): Promise<CliResult> => runCli(node.url, args, environment)

/** What a command prints. @throws Error with what it said instead */
async function printed(...args: string[]): Promise<string> {
  const { code, output, error } = await cli(...args)
  if (code !== 0) throw new Error(`coind ${args.join(' ')}: ${error}`)
  return output
}

/** The block’s word on a transaction. */
// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
const tx = async (...args: string[]): Promise<any> => {
  const response = JSON.parse(await printed('tx', ...args))
  expect(response).toMatchObject({ code: 0, codespace: '', txhash: expect.stringMatching(/^[0-9A-F]{64}$/) })
  return response
}
// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
const query = async (...args: string[]): Promise<any> => JSON.parse(await printed('query', ...args))

function messageFile(name: string, messages: readonly object[]): string {
  const file = join(directory, name)
  writeFileSync(file, JSON.stringify(messages))
  return file
}
const payment = (from: string, to: string, amount: string) => ({
  '@type': '/cosmos.bank.v1beta1.MsgSend',
  from_address: from,
  to_address: to,
  amount: [{ denom: 'acoin', amount }],
})

it('keeps keys', async () => {
  const secret = join(directory, 'secret')
  writeFileSync(secret, KEYS[0]!.slice(2))
  expect(await printed('keys', 'import', 'alice', '--private-key-file', secret)).toContain(alice)
  expect((await printed('keys', 'create', 'other')).match(/([a-z]+ ){11,23}[a-z]+/)).not.toBeNull()
  expect(await printed('keys', 'list')).toMatch(/alice[^]*other/)
  const shown = await printed('keys', 'show', 'alice')
  for (const encoding of [alice, ACCOUNTS[0]!.address]) expect(shown).toContain(encoding)
  expect((await cli('keys', 'export', 'alice')).code).not.toBe(0)
  expect(await printed('keys', 'export', 'alice', '--unsafe')).toContain(KEYS[0]!.slice(2))
  await printed('keys', 'delete', 'other', '--yes')
  expect(await printed('keys', 'list')).not.toContain('other')
})

it('says why it fails', async () => {
  const unknown = await cli('tx', 'bank', 'send', bob, '1COIN', '--from', 'nobody')
  expect([unknown.code === 0, unknown.output]).toEqual([false, ''])
  expect(unknown.error).toContain('nobody')
  const poor = await cli('tx', 'bank', 'send', bob, '10000000000COIN', '--from', 'alice')
  expect(poor.code).toBe(1)
  expect(poor.error).toContain('insufficient funds')
  for (const { error } of [unknown, poor]) expect(error).not.toMatch(/\n\s+at /)
})

it('stakes', async () => {
  await tx('staking', 'delegate', validator, '20COIN', '--from', 'alice', '--memo', 'hello')
  const { height } = await tx('staking', 'undelegate', validator, '3COIN', '--from', 'alice')
  await tx('staking', 'cancel-unbonding', validator, '1COIN', height, '--from', 'alice')
  const { unbonding_responses } = await query('staking', 'delegator-unbonding-delegations', alice)
  expect(unbonding_responses[0].entries).toMatchObject([{ creation_height: height, balance: `${2n * COIN}` }])
  await tx('staking', 'edit-validator', '--moniker', 'renamed', '--from', 'alice')
  expect((await query('staking', 'validator', validator)).validator.description.moniker).toBe('renamed')
})

it('takes rewards', async () => {
  const receiver = toBech32(hexToBytes(freshAddress()))
  await tx('distribution', 'set-withdraw-address', receiver, '--from', 'alice')
  await tx('distribution', 'withdraw-all-rewards', '--from', 'alice')
  const { balance } = await query('bank', 'balance', receiver, '--denom', 'acoin')
  expect(BigInt(balance.amount)).toBeGreaterThan(0n)
  await tx('distribution', 'fund-community-pool', '2COIN', '--from', 'alice')
  const { pool } = await query('distribution', 'community-pool')
  expect(Number(pool[0].amount)).toBeGreaterThanOrEqual(Number(2n * COIN))
})

it('lets others act and pay', async () => {
  const other = { ...environment, COIND_PRIVATE_KEY: KEYS[1]! }
  const receiver = toBech32(hexToBytes(freshAddress()))
  await tx('authz', 'grant', bob, '/cosmos.bank.v1beta1.MsgSend', '--spend-limit', '5acoin', '--from', 'alice')
  await tx('feegrant', 'grant', bob, '--from', 'alice')
  const file = messageFile('exec.json', [payment(alice, receiver, '5')])
  const before = await query('bank', 'balance', bob, '--denom', 'acoin')
  const { code, error } = await runCli(node.url, ['tx', 'authz', 'exec', file, '--fee-granter', alice], other)
  expect([code, error]).toEqual([0, ''])
  expect(await query('bank', 'balance', bob, '--denom', 'acoin')).toEqual(before)
  expect((await query('bank', 'balance', receiver, '--denom', 'acoin')).balance.amount).toBe('5')
  expect((await query('authz', 'grants', '--granter', alice, '--grantee', bob)).grants).toEqual([])
  await tx('feegrant', 'revoke', bob, '--from', 'alice')
})

it('sends any messages in one transaction, which is found by its hash', async () => {
  const receivers = [freshAddress(), freshAddress()].map((address) => toBech32(hexToBytes(address))) as [string, string]
  const file = messageFile(
    'messages.json',
    receivers.map((to) => payment(alice, to, '7')),
  )
  const { txhash } = await tx('messages', 'send', file, '--from', 'alice')
  const found = await query('tx', 'get-tx', txhash)
  expect(found.tx.body.messages).toEqual(receivers.map((to) => payment(alice, to, '7')))
  const split = await tx('bank', 'multi-send', '1COIN', ...receivers, '--from', 'alice')
  expect(BigInt(split.gas_used)).toBeGreaterThan(0n)
  const { balance } = await query('bank', 'balance', receivers[1], '--denom', 'acoin')
  expect(balance.amount).toBe((COIN + 7n).toString())
})
