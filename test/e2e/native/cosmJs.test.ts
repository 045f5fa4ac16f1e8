import { type DeliverTxResponse, isDeliverTxSuccess } from '@cosmjs/stargate'
import { Comet38Client, type comet38 } from '@cosmjs/tendermint-rpc'
import { PubKey } from 'cosmjs-types/cosmos/crypto/ed25519/keys'
import { TextProposal, VoteOption } from 'cosmjs-types/cosmos/gov/v1beta1/gov'
import { MsgCreateValidator } from 'cosmjs-types/cosmos/staking/v1beta1/tx'
import { createPublicClient, createWalletClient, http, type PublicClient } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { ACCOUNTS, COIN, GWEI, KEYS, viemChain } from '../devChain.ts'
import type { TestNode } from '../startNode.ts'
import { type CosmosAccount, cometUrl, connectCosmJs, getJson, startNativeChain } from './nativeChain.ts'

const VOTING_SECONDS = 4

let node: TestNode
let alice: CosmosAccount
let viem: PublicClient
const wallet = ACCOUNTS[0]!
const bob = toBech32(hexToBytes(ACCOUNTS[1]!.address))
const validator = toBech32(hexToBytes(wallet.address), 'coinvaloper')

beforeAll(async () => {
  node = await startNativeChain(({ gov }) => {
    gov.params.voting_period = `${VOTING_SECONDS}s`
    gov.params.expedited_voting_period = `${VOTING_SECONDS - 1}s`
  })
  alice = await connectCosmJs(node, KEYS[0]!)
  viem = createPublicClient({ chain: viemChain(node.url), transport: http(node.url), pollingInterval: 100 })
})
afterAll(async () => {
  alice?.client.disconnect()
  await node?.stop()
})

const evmWallet = () => createWalletClient({ account: wallet, chain: viemChain(node.url), transport: http(node.url) })

const acoin = (amount: bigint) => ({ denom: 'acoin', amount: amount.toString() })

/** Both worlds must tell the same of the account after every step. */
async function expectOneAccount(): Promise<void> {
  const [account, balance] = await Promise.all([
    alice.client.getAccount(alice.address),
    alice.client.getBalance(alice.address, 'acoin'),
  ])
  expect(await viem.getTransactionCount({ address: wallet.address })).toBe(account?.sequence ?? 0)
  expect(await viem.getBalance({ address: wallet.address })).toBe(BigInt(balance.amount))
}

function attribute(response: Pick<DeliverTxResponse, 'events'>, type: string, key: string): string {
  const found = response.events.find((event) => event.type === type)?.attributes.find((each) => each.key === key)
  if (found === undefined) throw new Error(`no attribute ${type}.${key}`)
  return found.value
}

async function expectSuccess(response: DeliverTxResponse): Promise<DeliverTxResponse> {
  expect(response.rawLog).toBe('')
  expect(isDeliverTxSuccess(response)).toBe(true)
  await expectOneAccount()
  return response
}

describe('CosmJS with an eth_secp256k1 key', () => {
  it('connects', async () => {
    expect(await alice.client.getChainId()).toBe('coin_76287-1')
    expect(await alice.client.getHeight()).toBeGreaterThan(0)
    await expectOneAccount()
  })

  it('simulates and sends; the transaction is found by hash and by events', async () => {
    const before = BigInt((await alice.client.getBalance(bob, 'acoin')).amount)
    const sent = await expectSuccess(await alice.client.sendTokens(alice.address, bob, [acoin(COIN)], 'auto', 'hello'))
    expect(BigInt((await alice.client.getBalance(bob, 'acoin')).amount) - before).toBe(COIN)
    expect(sent.gasUsed).toBeLessThanOrEqual(sent.gasWanted)
    const byHash = await alice.client.getTx(sent.transactionHash)
    expect(byHash).toMatchObject({ height: sent.height, code: 0, hash: sent.transactionHash })
    const found = await alice.client.searchTx([{ key: 'transfer.recipient', value: bob }])
    expect(found.map(({ hash }) => hash)).toContain(sent.transactionHash)
    expect(await alice.client.searchTx(`tx.height=${sent.height} AND message.sender='${alice.address}'`)).toHaveLength(
      1,
    )
  })

  it('is absent from the Ethereum block, its receipts and logs', async () => {
    const sent = await alice.client.sendTokens(alice.address, bob, [acoin(1n)], 'auto')
    const block = await viem.getBlock({ blockNumber: BigInt(sent.height) })
    expect(block.transactions).toEqual([])
    expect(block.gasUsed).toBe(0n)
    expect(await viem.getLogs({ fromBlock: block.number, toBlock: block.number })).toEqual([])
    await expect(viem.getTransaction({ hash: `0x${sent.transactionHash}` })).rejects.toThrow('could not be found')
  })

  it('tells of what is refused with the SDK’s code', async () => {
    const fee = { amount: [acoin(10n ** 15n)], gas: '200000' }
    const tooMuch = await alice.client.sendTokens(alice.address, bob, [acoin(10n ** 30n)], fee)
    expect([tooMuch.code, tooMuch.rawLog?.includes('insufficient funds')]).toEqual([5, true])
    await expectOneAccount()
    const cheap = alice.client.sendTokens(alice.address, bob, [acoin(1n)], { amount: [acoin(1n)], gas: '200000' })
    await expect(cheap).rejects.toMatchObject({ code: 13, codespace: 'sdk' })
    await expectOneAccount()
  })

  it('delegates, redelegates, undelegates and withdraws', async () => {
    const { client, address } = alice
    await expectSuccess(await client.delegateTokens(address, validator, acoin(50n * COIN), 'auto'))
    expect((await client.getDelegation(address, validator))?.amount).toBe((1_000_050n * COIN).toString())

    const second = await connectCosmJs(node, KEYS[1]!)
    await expectSuccess(await client.sendTokens(address, bob, [acoin(100n * COIN)], 'auto'))
    const secondValidator = toBech32(hexToBytes(ACCOUNTS[1]!.address), 'coinvaloper')
    const created = await second.client.signAndBroadcast(
      bob,
      [
        {
          typeUrl: MsgCreateValidator.typeUrl,
          value: MsgCreateValidator.fromPartial({
            description: { moniker: 'second' },
            commission: {
              rate: `1${'0'.repeat(17)}`,
              maxRate: `2${'0'.repeat(17)}`,
              maxChangeRate: `1${'0'.repeat(16)}`,
            },
            minSelfDelegation: '1',
            delegatorAddress: bob,
            validatorAddress: secondValidator,
            pubkey: { typeUrl: PubKey.typeUrl, value: PubKey.encode({ key: new Uint8Array(32).fill(9) }).finish() },
            value: acoin(2n * COIN),
          }),
        },
      ],
      'auto',
    )
    expect(created.rawLog).toBe('')
    second.client.disconnect()

    await expectSuccess(
      await client.signAndBroadcast(
        address,
        [
          {
            typeUrl: '/cosmos.staking.v1beta1.MsgBeginRedelegate',
            value: {
              delegatorAddress: address,
              validatorSrcAddress: validator,
              validatorDstAddress: secondValidator,
              amount: acoin(COIN),
            },
          },
        ],
        'auto',
      ),
    )
    expect((await client.getDelegation(address, secondValidator))?.amount).toBe(COIN.toString())
    await expectSuccess(await client.undelegateTokens(address, validator, acoin(20n * COIN), 'auto'))
    const { unbonding_responses } = await getJson(
      node,
      `/cosmos/staking/v1beta1/delegators/${address}/unbonding_delegations`,
    )
    expect(unbonding_responses[0].entries[0].balance).toBe((20n * COIN).toString())
    // The fees of a block are shared out in the next one.
    const rewards = async () =>
      (await getJson(node, `/cosmos/distribution/v1beta1/delegators/${address}/rewards`)).total
    await expect.poll(rewards, { timeout: 20_000 }).toMatchObject([{ denom: 'acoin' }])
    const withdrawn = await expectSuccess(await client.withdrawRewards(address, validator, 'auto'))
    expect(attribute(withdrawn, 'withdraw_rewards', 'amount')).toMatch(/^[1-9]\d*acoin$/)
  })

  it('proposes, deposits and votes, and the proposal passes', async () => {
    const { client, address } = alice
    const content = {
      typeUrl: TextProposal.typeUrl,
      value: TextProposal.encode({ title: 'T', description: 'D' }).finish(),
    }
    const submit = {
      typeUrl: '/cosmos.gov.v1beta1.MsgSubmitProposal',
      value: { content, initialDeposit: [acoin(9n * COIN)], proposer: address },
    }
    const submitted = await expectSuccess(await client.signAndBroadcast(address, [submit], 'auto'))
    const proposalId = BigInt(attribute(submitted, 'submit_proposal', 'proposal_id'))
    const deposit = { proposalId, depositor: address, amount: [acoin(COIN)] }
    const vote = { proposalId, voter: address, option: VoteOption.VOTE_OPTION_YES }
    await expectSuccess(
      await client.signAndBroadcast(address, [{ typeUrl: '/cosmos.gov.v1beta1.MsgDeposit', value: deposit }], 'auto'),
    )
    await expectSuccess(
      await client.signAndBroadcast(address, [{ typeUrl: '/cosmos.gov.v1beta1.MsgVote', value: vote }], 'auto'),
    )
    await expect
      .poll(async () => (await getJson(node, `/cosmos/gov/v1/proposals/${proposalId}`)).proposal.status, {
        timeout: 20_000,
        interval: 300,
      })
      .toBe('PROPOSAL_STATUS_PASSED')
    await expectOneAccount()
  })

  it('hears of blocks and transactions at the WebSocket', async () => {
    const socket = await Comet38Client.connect(cometUrl(node).replace(/^http/, 'ws'))
    const heard: comet38.TxEvent[] = []
    const heights: number[] = []
    const blocks = socket.subscribeNewBlock().subscribe({ next: ({ header }) => void heights.push(header.height) })
    const txs = socket.subscribeTx(`transfer.recipient='${bob}'`).subscribe({ next: (event) => void heard.push(event) })
    // Whoever hears of blocks has both subscriptions: they were asked for in one go.
    await expect.poll(() => heights.length, { timeout: 20_000 }).toBeGreaterThan(1)
    const sent = await alice.client.sendTokens(alice.address, bob, [acoin(3n)], 'auto')
    await expect.poll(() => heard.length, { timeout: 10_000 }).toBe(1)
    await expect.poll(() => heights.length, { timeout: 10_000 }).toBeGreaterThan(2)
    expect(Buffer.from(heard[0]!.hash).toString('hex').toUpperCase()).toBe(sent.transactionHash)
    expect(heard[0]!.height).toBe(sent.height)
    expect(heights).toEqual(heights.map((_, index) => heights[0]! + index))
    const transfer = await evmWallet().sendTransaction({ to: ACCOUNTS[1]!.address, value: 4n })
    await expect.poll(() => heard.length, { timeout: 10_000 }).toBe(2)
    // CosmJS takes the SHA-256 of its bytes for the hash of an EVM transaction too.
    const found = await alice.client.getTx(Buffer.from(heard[1]!.hash).toString('hex'))
    expect(found).toMatchObject({ height: heard[1]!.height, code: 0, hash: transfer.slice(2).toUpperCase() })
    txs.unsubscribe()
    blocks.unsubscribe()
    socket.disconnect()
  })
})

it('an account that alternates EVM and native transactions never stalls', async () => {
  const { client, address } = alice
  const evm = evmWallet()
  const fee = { amount: [acoin(200_000n * 20n * GWEI)], gas: '200000' }
  const { sequence } = await client.getSequence(address)
  const receiver = '0x00000000000000000000000000000000000a11ce'
  const native = toBech32(hexToBytes(receiver))
  const sends = Array.from({ length: 20 }, async (_, index) => {
    if (index % 2 === 0) {
      return evm.sendTransaction({
        to: receiver,
        value: 1n,
        nonce: sequence + index,
        gas: 21_000n,
        maxFeePerGas: 20n * GWEI,
        maxPriorityFeePerGas: GWEI,
      })
    }
    const message = {
      typeUrl: '/cosmos.bank.v1beta1.MsgSend',
      value: { fromAddress: address, toAddress: native, amount: [acoin(1n)] },
    }
    const signerData = { accountNumber: 0n, sequence: sequence + index, chainId: 'coin_76287-1' }
    const { TxRaw } = await import('cosmjs-types/cosmos/tx/v1beta1/tx')
    const signed = await client.sign(address, [message], fee, '', signerData as never)
    return client.broadcastTxSync(TxRaw.encode(signed).finish())
  })
  await Promise.all(sends)
  await expect.poll(() => viem.getBalance({ address: receiver }), { timeout: 15_000, interval: 200 }).toBe(20n)
  await expectOneAccount()
})
