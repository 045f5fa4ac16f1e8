import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EncodeObject } from '@cosmjs/proto-signing'
import type { DeliverTxResponse } from '@cosmjs/stargate'
import { MsgCommunityPoolSpend } from 'cosmjs-types/cosmos/distribution/v1beta1/tx'
import { MsgSubmitProposal } from 'cosmjs-types/cosmos/gov/v1/tx'
import { MsgUpdateParams } from 'cosmjs-types/cosmos/staking/v1beta1/tx'
import { createPublicClient, createWalletClient, type Hex, http, type PublicClient, stringToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileContract } from '../../../contracts/compile.ts'
import { dataPaths } from '../../../src/datadir/dataDirectory.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { ACCOUNTS, COIN, GWEI, KEYS, viemChain } from '../devChain.ts'
import { runCoind } from '../runCoind.ts'
import { freePort, type TestNode } from '../startNode.ts'
import { type CosmosAccount, connectCosmJs, getJson, startNativeChain } from './nativeChain.ts'
import { runCli, sendByCli } from './runCli.ts'

/**
 * All proposals are made first and voted on together: their periods are short, and pass at the same time. The one validator
 * has all the votes.
 */

const VOTING_SECONDS = 10
const GOV: Hex = '0x0000000000000000000000000000000000000805'
const DEPOSIT = 10n * COIN
const SPENT = 3n * COIN
const FEE_FLOOR = 7n * GWEI

let node: TestNode
let directory: string
let alice: CosmosAccount
let viem: PublicClient
let authority: string
const [aliceHex, bobHex] = [ACCOUNTS[0]!.address, ACCOUNTS[1]!.address]
const validator = toBech32(hexToBytes(aliceHex), 'coinvaloper')
const receiver = toBech32(new Uint8Array(20).fill(0x77))
const gov = compileContract('IGov.sol', 'IGov').abi

/** numbers of the proposals by their titles */
const ids = new Map<string, bigint>()
let supplyBefore: bigint

const acoin = (amount: bigint) => ({ denom: 'acoin', amount: amount.toString() })
const fee = { amount: [acoin(2_000_000n * 20n * GWEI)], gas: '2000000' }
const proposal = async (title: string) => {
  const { proposal: found } = await getJson(node, `/cosmos/gov/v1/proposals/${ids.get(title)}`)
  return found
}
const supply = async () => {
  const { amount } = await getJson(node, '/cosmos/bank/v1beta1/supply/by_denom?denom=acoin')
  return BigInt(amount.amount)
}
const params = async (module: string) => (await getJson(node, `/cosmos/${module}/params`)).params

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-proposals-'))
  node = await startNativeChain(({ gov, staking, distribution, timing }) => {
    // An upgrade is planned for a height that is later than the end of a vote on it, however slow the machine.
    timing.params.block_interval_ms = '400'
    gov.params.voting_period = `${VOTING_SECONDS}s`
    gov.params.expedited_voting_period = '5s'
    gov.params.max_deposit_period = '3s'
    staking.params.max_entries = 7
    distribution.params.community_tax = '0.500000000000000000'
  })
  alice = await connectCosmJs(node, KEYS[0]!)
  for (const type of [MsgUpdateParams, MsgCommunityPoolSpend]) alice.client.registry.register(type.typeUrl, type)
  viem = createPublicClient({ chain: viemChain(node.url), transport: http(node.url), pollingInterval: 100 })
  const { account } = await getJson(node, '/cosmos/auth/v1beta1/module_accounts/gov')
  authority = account.base_account.address
  const fund = {
    typeUrl: '/cosmos.distribution.v1beta1.MsgFundCommunityPool',
    value: { depositor: alice.address, amount: [acoin(5n * COIN)] },
  }
  const send = {
    typeUrl: '/cosmos.bank.v1beta1.MsgSend',
    value: { fromAddress: alice.address, toAddress: toBech32(hexToBytes(bobHex)), amount: [acoin(1000n * COIN)] },
  }
  expect((await alice.client.signAndBroadcast(alice.address, [fund, send], fee)).code).toBe(0)
})
afterAll(async () => {
  alice?.client.disconnect()
  await node?.stop()
  rmSync(directory, { recursive: true, force: true })
})

/** What a proposal of a test is besides its title. */
interface Content {
  readonly messages?: readonly EncodeObject[]
  readonly deposit?: bigint
}

/** Proposes by MsgSubmitProposal of gov v1, all in one transaction. */
async function submit(proposals: Readonly<Record<string, Content>>): Promise<DeliverTxResponse> {
  const messages = Object.entries(proposals).map(([title, { messages = [], deposit = DEPOSIT }]) => ({
    typeUrl: MsgSubmitProposal.typeUrl,
    value: MsgSubmitProposal.fromPartial({
      title,
      summary: `about ${title}`,
      metadata: 'test',
      proposer: alice.address,
      initialDeposit: [acoin(deposit)],
      messages: messages.map((message) => alice.client.registry.encodeAsAny(message)),
    }),
  }))
  const response = await alice.client.signAndBroadcast(alice.address, messages, fee)
  const numbers = response.events.flatMap(({ type, attributes }) =>
    type === 'submit_proposal' ? attributes.filter(({ key }) => key === 'proposal_id').map(({ value }) => value) : [],
  )
  const distinct = [...new Set(numbers)]
  for (const [index, title] of Object.keys(proposals).entries()) {
    if (distinct[index] !== undefined) ids.set(title, BigInt(distinct[index]))
  }
  return response
}

/** Votes in one transaction. */
async function vote(votes: Readonly<Record<string, number>>): Promise<void> {
  const messages = Object.entries(votes).map(([title, option]) => ({
    typeUrl: '/cosmos.gov.v1.MsgVote',
    value: { proposalId: ids.get(title)!, voter: alice.address, option, metadata: '' },
  }))
  const { code, rawLog } = await alice.client.signAndBroadcast(alice.address, messages, fee)
  expect([code, rawLog]).toEqual([0, ''])
}

async function ended(title: string): Promise<string> {
  const running = ['PROPOSAL_STATUS_VOTING_PERIOD', 'PROPOSAL_STATUS_DEPOSIT_PERIOD']
  await expect
    .poll(async () => (await proposal(title)).status, { timeout: 30_000, interval: 200 })
    .not.toSatisfy((status: string) => running.includes(status))
  return (await proposal(title)).status
}

it('takes proposals through every path', async () => {
  const entries: EncodeObject = {
    typeUrl: MsgUpdateParams.typeUrl,
    value: MsgUpdateParams.fromPartial({
      authority,
      params: {
        unbondingTime: { seconds: 1_814_400n, nanos: 0 },
        maxValidators: 50,
        maxEntries: 1,
        historicalEntries: 10_000,
        bondDenom: 'acoin',
        minCommissionRate: '0',
      },
    }),
  }
  const poolSpend = (amount: bigint): EncodeObject => ({
    typeUrl: MsgCommunityPoolSpend.typeUrl,
    value: MsgCommunityPoolSpend.fromPartial({ authority, recipient: receiver, amount: [acoin(amount)] }),
  })
  const send = {
    typeUrl: '/cosmos.bank.v1beta1.MsgSend',
    value: { fromAddress: alice.address, toAddress: receiver, amount: [acoin(1n)] },
  }
  expect(await submit({ wrong: { messages: [send] } })).toMatchObject({
    code: 13,
    rawLog: expect.stringContaining('signer'),
  })
  expect(await submit({ wrong: { deposit: 1n } })).toMatchObject({ code: 16 })
  expect(ids.size).toBe(0)

  const made = await submit({
    veto: {},
    reject: {},
    entries: { messages: [entries] },
    'too much': { messages: [poolSpend(10n ** 9n * COIN)] },
    // Below the minimal deposit of 10 COIN, and nobody adds to it.
    expire: { deposit: COIN },
  })
  expect([made.rawLog, made.code]).toEqual(['', 0])

  // The precompile, called by who holds the key.
  const spend = {
    '@type': MsgCommunityPoolSpend.typeUrl,
    authority,
    recipient: receiver,
    amount: [acoin(SPENT)],
  }
  const floor = {
    '@type': '/cosmos.evm.feemarket.v1.MsgUpdateParams',
    authority,
    params: { ...(await params('evm/feemarket/v1')), min_gas_price: '7000000000.000000000000000000' },
  }
  const bob = createWalletClient({ account: ACCOUNTS[1]!, chain: viemChain(node.url), transport: http(node.url) })
  for (const [title, message] of [
    ['spend', spend],
    ['floor', floor],
  ] as const) {
    const json = stringToHex(JSON.stringify({ messages: [message], title, summary: title, metadata: '' }))
    const call = { address: GOV, abi: gov, functionName: 'submitProposal', account: ACCOUNTS[1]! } as const
    const args = [bobHex, json, [{ denom: 'acoin', amount: DEPOSIT }]]
    const { result, request } = await viem.simulateContract({ ...call, args })
    const hash = await bob.writeContract(request)
    const receipt = await viem.waitForTransactionReceipt({ hash })
    expect(receipt.status).toBe('success')
    ids.set(title, result as unknown as bigint)
    expect(await proposal(title)).toMatchObject({ title, proposer: toBech32(hexToBytes(bobHex)), messages: [message] })
  }

  supplyBefore = await supply()
  await vote({ veto: 4, reject: 3, entries: 1, 'too much': 1, spend: 1, floor: 1 })
  expect(await proposal('veto')).toMatchObject({ status: 'PROPOSAL_STATUS_VOTING_PERIOD', title: 'veto' })
})

describe('ends of proposals', () => {
  it('expired in deposit: gone, and the deposit is back', async () => {
    const path = `/cosmos/gov/v1/proposals/${ids.get('expire')}`
    await expect.poll(async () => (await getJson(node, path)).code, { timeout: 20_000, interval: 200 }).toBe(5)
    const { deposits } = await getJson(node, `${path}/deposits`)
    expect(deposits ?? []).toEqual([])
  })

  it('vetoed: the deposit is burnt', async () => {
    expect(await ended('veto')).toBe('PROPOSAL_STATUS_REJECTED')
    expect((await proposal('veto')).final_tally_result.no_with_veto_count).toBe(`${1_000_000n * COIN}`)
    // Nothing is minted.
    expect(await supply()).toBe(supplyBefore - DEPOSIT)
  })

  it('rejected', async () => {
    expect(await ended('reject')).toBe('PROPOSAL_STATUS_REJECTED')
    expect((await proposal('reject')).final_tally_result.no_count).toBe(`${1_000_000n * COIN}`)
  })

  it('passed, but its message fails: nothing of it is left', async () => {
    expect(await ended('too much')).toBe('PROPOSAL_STATUS_FAILED')
    expect((await proposal('too much')).failed_reason).toContain('community pool does not have sufficient coins')
  })

  it('passed: the community pool has paid', async () => {
    expect(await ended('spend')).toBe('PROPOSAL_STATUS_PASSED')
    const { balance } = await getJson(node, `/cosmos/bank/v1beta1/balances/${receiver}/by_denom?denom=acoin`)
    expect(balance.amount).toBe(SPENT.toString())
    expect(await viem.getBalance({ address: `0x${'77'.repeat(20)}` })).toBe(SPENT)
  })

  it('passed: a second unbonding is one too many', async () => {
    expect(await ended('entries')).toBe('PROPOSAL_STATUS_PASSED')
    const undelegate = () => alice.client.undelegateTokens(alice.address, validator, acoin(COIN), fee)
    expect(await undelegate()).toMatchObject({ code: 0 })
    expect(await undelegate()).toMatchObject({ code: 27, rawLog: expect.stringContaining('too many unbonding') })
  })

  it('passed: gas has a new floor', async () => {
    expect(await ended('floor')).toBe('PROPOSAL_STATUS_PASSED')
    await expect.poll(() => viem.getGasPrice(), { timeout: 20_000 }).toBeGreaterThanOrEqual(FEE_FLOOR)
    const baseFee = async () => (await viem.getBlock()).baseFeePerGas
    await expect.poll(baseFee, { timeout: 20_000 }).toBeGreaterThanOrEqual(FEE_FLOOR)
    const cheap = { amount: [acoin(500_000n * 6n * GWEI)], gas: '500000' }
    const sent = alice.client.sendTokens(alice.address, receiver, [acoin(1n)], cheap)
    await expect(sent).rejects.toMatchObject({ code: 13 })
  })

  it('the precompile tells of all of them', async () => {
    for (const [title, status] of [
      ['veto', 4],
      ['spend', 3],
      ['too much', 5],
    ] as const) {
      const read = { address: GOV, abi: gov, functionName: 'getProposal', args: [ids.get(title)] } as const
      expect(await viem.readContract(read)).toMatchObject({ id: ids.get(title), title, status })
    }
  })
})

describe('an upgrade', () => {
  it('stops the node at its height, with a message and an error', async () => {
    const height = (await viem.getBlockNumber()) + 40n
    const plan = { name: 'v99', height: height.toString(), info: 'see the forum' }
    const upgrade = { '@type': '/cosmos.upgrade.v1beta1.MsgSoftwareUpgrade', authority, plan }
    const file = join(directory, 'proposal.json')
    const content = { title: 'upgrade', summary: 'S', deposit: '50COIN', expedited: true, messages: [upgrade] }
    writeFileSync(file, JSON.stringify(content))
    await sendByCli(node.url, KEYS[0]!, ['gov', 'submit-proposal', file])
    ids.set('upgrade', BigInt(Math.max(...[...ids.values()].map(Number)) + 1))
    await vote({ upgrade: 1 })
    expect(await ended('upgrade')).toBe('PROPOSAL_STATUS_PASSED')
    const current = await getJson(node, '/cosmos/upgrade/v1beta1/current_plan')
    expect(current.plan).toMatchObject(plan)
    const balance = await viem.getBalance({ address: aliceHex })

    const code = await new Promise<number | null>((resolve) => {
      if (node.process.exitCode !== null) resolve(node.process.exitCode)
      else node.process.once('exit', resolve)
    })
    expect(code).toBe(75)
    const message = new RegExp(`v99.*${height}|${height}.*v99`)
    expect(node.output()).toMatch(message)
    const { upgradeInfo } = dataPaths(node.homedir)
    const told = { name: 'v99', height: Number(height), info: 'see the forum' }
    expect(JSON.parse(readFileSync(upgradeInfo, 'utf8'))).toEqual(told)
    rmSync(upgradeInfo)

    // It says the same again, in one line.
    const again = await runCoind(['start', '--homedir', node.homedir], {
      environment: {
        NETWORK: 'testnet',
        RPC_PORT: String(node.rpcPort),
        P2P_PORT: String(await freePort()),
        METRICS_PORT: '0',
      },
      killAfterMs: 30_000,
    })
    expect(again).toMatchObject({ code: 75, output: expect.stringMatching(message) })
    expect(again.output).toContain('see the forum')
    expect(JSON.parse(readFileSync(upgradeInfo, 'utf8'))).toEqual(told)
    for (const output of [node.output(), again.output]) expect(output).not.toMatch(/\n\s+at /)

    const invariants = await runCli(node.url, ['debug', 'invariants', '--homedir', node.homedir])
    expect(invariants).toMatchObject({ code: 0, error: '' })
    expect(invariants.output).toMatch(new RegExp(`block ${height - 1n}: all invariants hold`))
    expect(balance).toBeGreaterThan(0n)
  })
})
