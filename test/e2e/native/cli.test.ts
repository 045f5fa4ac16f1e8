import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openKeystore } from '../../../src/cli/keys/keystore.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { ACCOUNTS, COIN, freshAddress, KEYS } from '../devChain.ts'
import { startQuickDevnet } from '../quickDevnet.ts'
import { post } from '../rpc.ts'
import type { TestNode } from '../startNode.ts'
import { getJson } from './nativeChain.ts'
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
  node = await startQuickDevnet()
})
afterAll(async () => {
  await node?.stop()
  rmSync(directory, { recursive: true, force: true })
})

const cli = (...args: string[]): Promise<CliResult> => runCli(node.url, args, environment)

/** Encrypts its keys with few rounds of scrypt, so that each command that reads one is quick. */
const weakKeystore = () => openKeystore(join(directory, 'keys'), 1024)

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
async function balance(address: string): Promise<bigint> {
  return BigInt((await getJson(node, `/cosmos/bank/v1beta1/balances/${address}/by_denom?denom=acoin`)).balance.amount)
}

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

it('keeps keys, and says why it fails', async () => {
  const secret = join(directory, 'secret')
  writeFileSync(secret, KEYS[0]!.slice(2))
  const imported = await printed('keys', 'import', 'strong', '--private-key-file', secret)
  for (const encoding of [alice, ACCOUNTS[0]!.address]) expect(imported).toContain(encoding)
  expect(await printed('keys', 'list')).toContain('strong')
  await printed('keys', 'delete', 'strong', '-y')
  for (const [index, name] of ['alice', 'second', 'third'].entries()) {
    await weakKeystore().add(name, hexToBytes(KEYS[index]!), environment['COIND_KEY_PASSWORD']!)
  }
  const poor = await cli('tx', 'bank', 'send', bob, '10000000000COIN', '--from', 'alice')
  expect([poor.code, poor.output]).toEqual([1, ''])
  expect(poor.error).toMatch(/^coind: .*insufficient funds.*\n$/)
})

it('stakes and takes rewards', async () => {
  const { height } = await tx('staking', 'undelegate', validator, '3COIN', '--from', 'alice')
  await tx('staking', 'cancel-unbonding', validator, '1COIN', height, '--from', 'alice', '--memo', 'hello')
  const path = `/cosmos/staking/v1beta1/delegators/${alice}/unbonding_delegations`
  const { unbonding_responses } = await getJson(node, path)
  expect(unbonding_responses[0].entries).toMatchObject([{ creation_height: height, balance: `${2n * COIN}` }])
  const { events } = await tx('distribution', 'withdraw-all-rewards', '--from', 'alice')
  expect(events.map(({ type }: { readonly type: string }) => type)).toContain('withdraw_rewards')
})

it('lets others act and pay', async () => {
  const receiver = toBech32(hexToBytes(freshAddress()))
  await tx('authz', 'grant', bob, '/cosmos.bank.v1beta1.MsgSend', '--spend-limit', '5acoin', '--from', 'alice')
  await tx('feegrant', 'grant', bob, '--from', 'alice')
  const file = messageFile('exec.json', [payment(alice, receiver, '5')])
  const before = await balance(bob)
  const exec = ['tx', 'authz', 'exec', file, '--fee-granter', alice]
  const { code, error } = await runCli(node.url, exec, { COIND_PRIVATE_KEY: KEYS[1]! })
  expect([code, error]).toEqual([0, ''])
  expect([await balance(bob), await balance(receiver)]).toEqual([before, 5n])
  const { grants } = await getJson(node, `/cosmos/authz/v1beta1/grants?granter=${alice}&grantee=${bob}`)
  expect(grants).toEqual([])
})

it('sends any messages in one transaction, which is found by its hash', async () => {
  const payments = [freshAddress(), freshAddress()].map((address) => payment(alice, toBech32(hexToBytes(address)), '7'))
  const { txhash } = await tx('messages', 'send', messageFile('messages.json', payments), '--from', 'alice')
  const found = JSON.parse(await printed('query', 'tx', txhash))
  expect(found.tx.body.messages).toEqual(payments)
})

it('moves the coins of a multisig, whose members sign files', async () => {
  await printed('keys', 'add', 'team', '--multisig', 'alice,second,third', '--multisig-threshold', '2')
  const team = (await printed('keys', 'show', 'team', '-a')).trim()
  const poor = await cli('tx', 'bank', 'send', 'team', bob, '1acoin', '--generate-only')
  expect([poor.code, poor.error]).toEqual([1, expect.stringContaining(`${team} has no coins on this chain`)])
  await tx('bank', 'send', 'alice', team, '1COIN', '--note', 'in the order of the SDK', '-y')
  const before = await balance(bob)
  const unsigned = join(directory, 'unsigned.json')
  writeFileSync(unsigned, await printed('tx', 'bank', 'send', 'team', bob, '5acoin', '--generate-only'))
  const signatures = await Promise.all(
    ['alice', 'third'].map(async (name) => {
      const path = join(directory, `${name}.json`)
      await printed('tx', 'sign', unsigned, '--from', name, '--multisig', 'team', '--output-document', path)
      return path
    }),
  )
  const signed = join(directory, 'signed.json')
  await printed('tx', 'multisign', unsigned, 'team', ...signatures, '--output-document', signed)
  expect(await printed('tx', 'validate-signatures', signed)).toContain('All signatures are valid')
  const { txhash } = JSON.parse(await printed('tx', 'broadcast', signed, '-b', 'sync'))
  const { height } = JSON.parse(await printed('query', 'wait-tx', txhash))
  expect(await balance(bob)).toBe(before + 5n)
  expect(JSON.parse(await printed('query', 'block', '--type=height', height)).header.height).toBe(height)
  expect(await printed('status', '-o', 'text', '--node', node.url.replace('http:', 'tcp:'))).toMatch(
    /network: coin_76287-1/,
  )
})

it('locks coins, which transactions of neither kind move', async () => {
  const carol = privateKeyToAccount(generatePrivateKey())
  await tx('vesting', 'create-permanent-locked-account', carol.address, '5COIN', '--from', 'alice')
  await tx('bank', 'send', carol.address, '1COIN', '--from', 'alice')
  const fees = {
    chainId: 76287,
    type: 'eip1559',
    gas: 21_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 1n,
    to: freshAddress(),
  } as const
  const send = async (nonce: number, value: bigint) =>
    post(node.url, {
      method: 'eth_sendRawTransaction',
      params: [await carol.signTransaction({ ...fees, nonce, value })],
    })
  const cost = fees.gas * fees.maxFeePerGas
  const refused = `insufficient funds for gas * price + value: balance ${COIN}, tx cost ${COIN + 1n}, overshot 1`
  expect((await send(0, COIN - cost + 1n)).error).toEqual({ code: -32000, message: refused })
  expect((await send(0, COIN / 2n)).error).toBeUndefined()
  // What the first one leaves, whether it is in a block already or not.
  expect((await send(1, COIN / 2n)).error?.message).toMatch(/^insufficient funds/)
  const call = { from: carol.address, to: fees.to, value: `0x${(2n * COIN).toString(16)}` }
  expect((await post(node.url, { method: 'eth_estimateGas', params: [call] })).error?.message).toMatch(
    /insufficient funds/,
  )
  expect(await balance(toBech32(hexToBytes(carol.address)))).toBeGreaterThan(5n * COIN)
})
