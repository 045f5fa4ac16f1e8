import { serializeSignDoc } from '@cosmjs/amino'
import { TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import { COSMJS_SIGNERS, signWithCosmJs } from '../../native/cosmJsSigners.ts'
import { ACCOUNTS, COIN, KEYS } from '../devChain.ts'
import { startQuickDevnet } from '../quickDevnet.ts'
import { rpc } from '../rpc.ts'
import type { TestNode } from '../startNode.ts'
import { cometUrl, getJson } from './nativeChain.ts'
import { runCli } from './runCli.ts'

/**
 * The requests of Keplr's chain validator (which decides whether a chain is admitted to its registry) and of the wallet itself.
 * REST is at the node's URL, CometBFT's RPC at /rpc.
 */

const CHAIN_ID = 'coin_76287-1'
const [alice, bob] = [0, 1].map((index) => toBech32(hexToBytes(ACCOUNTS[index]!.address))) as [string, string]

let node: TestNode
beforeAll(async () => {
  node = await startQuickDevnet()
})
afterAll(() => node?.stop())

async function status(path: string): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const response = await fetch(new URL(path.slice(1), node.url), { headers: { origin: 'https://wallet.keplr.app' } })
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

describe('the chain validator', () => {
  it('finds the chain’s ID at all three end points', async () => {
    const comet = await status('/rpc/status')
    expect(comet.body).toMatchObject({ result: { node_info: { network: CHAIN_ID } } })
    const rest = await status('/cosmos/base/tendermint/v1beta1/node_info')
    expect(rest.body).toMatchObject({ default_node_info: { network: CHAIN_ID } })
    expect(await rpc<string>(node.url, 'eth_chainId')).toBe('0x129ff')
  })

  it('opens the WebSocket within its time', async () => {
    const socket = new WebSocket(`${cometUrl(node).replace('http', 'ws')}/websocket`)
    await expect.poll(() => socket.readyState, { timeout: 15_000 }).toBe(WebSocket.OPEN)
    socket.close()
  })

  it.each([
    ['/ibc/apps/transfer/v1/params', 501],
    ['/ibc/applications/transfer/v1beta1/params', 501],
    ['/cosmos/bank/v1beta1/spendable_balances/test', 400],
    ['/ibc/apps/transfer/v1/denoms/test', 501],
    ['/cosmwasm/wasm/v1/contract/test/smart/test', 501],
    ['/feemarket/v1/params', 501],
    ['/osmosis/txfees/v1beta1/cur_eip_base_fee', 501],
    ['/other/v2alpha1', 501],
  ])('learns of a feature: %s is %d', async (path, expected) => {
    const found = await status(path)
    expect(found.status).toBe(expected)
    expect(found.body).toMatchObject({ code: expected === 400 ? 3 : 12, message: expect.any(String), details: [] })
  })

  it.each(['/feemarket/evm/v1/base_fee', '/ethermint/evm/v1/params'])('finds %s by its old name', async (path) => {
    expect((await status(path)).status).toBe(200)
  })

  it.each(['/favicon.ico', '/v1', '/v1/x', '/other/version1', '/rpc/x/v1'])(
    'gets the plain answer of an HTTP server for %s',
    async (path) => {
      const response = await fetch(new URL(path.slice(1), node.url))
      expect([response.status, await response.text()]).toEqual([404, '404 page not found'])
    },
  )
})

describe('the wallet', () => {
  it('asks for the base fee', async () => {
    const { body } = await status('/cosmos/evm/feemarket/v1/base_fee')
    expect(body).toEqual({ base_fee: '1000000000.000000000000000000' })
  })

  it('knows an unknown account by 404 and code 5', async () => {
    const unknown = toBech32(new Uint8Array(20).fill(7))
    const { status: code, body } = await status(`/cosmos/auth/v1beta1/accounts/${unknown}`)
    expect([code, body['code']]).toEqual([404, 5])
  })

  it('shows balances, delegations, rewards, validators and proposals', async () => {
    const { balances } = await getJson(node, `/cosmos/bank/v1beta1/balances/${bob}?pagination.limit=1000`)
    expect(balances).toEqual([{ denom: 'acoin', amount: expect.stringMatching(/^\d+$/) }])
    const { balances: spendable } = await getJson(node, `/cosmos/bank/v1beta1/spendable_balances/${bob}`)
    expect(spendable).toEqual(balances)
    const { validators } = await getJson(
      node,
      '/cosmos/staking/v1beta1/validators?pagination.limit=1000&status=BOND_STATUS_BONDED',
    )
    expect(validators).toMatchObject([{ status: 'BOND_STATUS_BONDED', jailed: false }])
    const none = [
      [`/cosmos/staking/v1beta1/delegations/${bob}?pagination.limit=1000`, 'delegation_responses'],
      [`/cosmos/staking/v1beta1/delegators/${bob}/unbonding_delegations?pagination.limit=1000`, 'unbonding_responses'],
      [`/cosmos/distribution/v1beta1/delegators/${bob}/rewards`, 'rewards'],
      ['/cosmos/gov/v1/proposals?pagination.limit=3000', 'proposals'],
      ['/cosmos/gov/v1beta1/proposals?pagination.limit=3000', 'proposals'],
    ] as const
    for (const [path, field] of none) expect((await getJson(node, path))[field], path).toEqual([])
    for (const part of ['voting', 'tallying', 'deposit']) {
      const { params } = await getJson(node, `/cosmos/gov/v1/params/${part}`)
      expect(params).toMatchObject({ voting_period: expect.stringMatching(/s$/) })
    }
  })

  it('simulates without a signature, sends by REST and traces what it sent', async () => {
    const message = {
      typeUrl: '/cosmos.bank.v1beta1.MsgSend',
      value: { fromAddress: alice, toAddress: bob, amount: [{ denom: 'acoin', amount: `${COIN}` }] },
    }
    const signer = await COSMJS_SIGNERS.aminoEthSecp256k1(hexToBytes(KEYS[0]!))
    const { account } = await getJson(node, `/cosmos/auth/v1beta1/accounts/${alice}`)
    const raw = await signWithCosmJs(signer, [message], {
      sequence: Number(account.sequence),
      fee: { amount: [{ denom: 'acoin', amount: `${3n * 10n ** 14n}` }], gas: '100000' },
    })
    const unsigned = TxRaw.encode({ ...TxRaw.decode(raw), signatures: [new Uint8Array(0)] }).finish()
    const simulated = await postTx('/cosmos/tx/v1beta1/simulate', { tx_bytes: base64(unsigned) })
    expect(simulated.status).toBe(200)

    const tracer = await openSocket()
    const hash = sha256(raw)
    const hex = Buffer.from(hash).toString('hex').toUpperCase()
    tracer.send({ method: 'subscribe', params: ["tm.event='NewBlock'"], id: 1 })
    tracer.send({ method: 'subscribe', params: { query: `tm.event='Tx' AND tx.hash='${hex}'` }, id: 77 })
    tracer.send({ method: 'tx', params: { hash: base64(hash), prove: false }, id: 78 })
    const missing = await tracer.next(({ id }) => id === 78)
    expect(missing).toMatchObject({ error: { code: -32603, data: expect.stringContaining('not found') } })
    const found = postTx('/cosmos/tx/v1beta1/txs', { tx_bytes: base64(raw), mode: 'BROADCAST_MODE_SYNC' })
    expect(await found).toMatchObject({ status: 200, body: { tx_response: { code: 0, txhash: hex } } })
    const event = await tracer.next(({ id, result }) => id === 77 && result?.data?.type === 'tendermint/event/Tx')
    const { TxResult } = event.result.data.value
    expect(TxResult.result).toMatchObject({ gas_used: simulated.body.gas_info.gas_used })
    expect(TxResult.result.code ?? 0).toBe(0)
    const block = await tracer.next(({ result }) => result?.data?.type === 'tendermint/event/NewBlock')
    expect(block.result.data.value.block.header.chain_id).toBe(CHAIN_ID)

    tracer.send({ method: 'tx', params: { hash: base64(hash), prove: false }, id: 79 })
    const byHash = await tracer.next(({ id }) => id === 79)
    expect(byHash.result).toMatchObject({ hash: hex, height: TxResult.height, tx_result: { code: 0 } })
    const query = { query: `transfer.recipient='${bob}'`, page: '1', per_page: '1', order_by: 'desc' }
    tracer.send({ method: 'tx_search', params: query, id: 80 })
    const searched = await tracer.next(({ id }) => id === 80)
    expect(searched.result).toMatchObject({ total_count: '1', txs: [{ hash: hex }] })
    tracer.close()
  })

  it('signs arbitrary texts without the chain: such a document is no transaction', async () => {
    const text = { type: 'sign/MsgSignData', value: { signer: alice, data: base64(Buffer.from('hello')) } }
    const document = {
      chain_id: '',
      account_number: '0',
      sequence: '0',
      fee: { gas: '0', amount: [] },
      msgs: [text],
      memo: '',
    }
    const bodyBytes = TxBody.encode(
      TxBody.fromPartial({ memo: Buffer.from(serializeSignDoc(document)).toString() }),
    ).finish()
    const raw = TxRaw.encode({ bodyBytes, authInfoBytes: new Uint8Array(0), signatures: [] }).finish()
    const { body } = await postTx('/cosmos/tx/v1beta1/txs', { tx_bytes: base64(raw), mode: 'BROADCAST_MODE_SYNC' })
    expect(body.tx_response?.code ?? body.code).not.toBe(0)
  })
})

describe('coind', () => {
  it('answers the same questions on the command line', async () => {
    const query = async (...args: string[]) => {
      const { code, output, error } = await runCli(node.url, ['query', ...args])
      expect(error).toBe('')
      expect(code).toBe(0)
      return JSON.parse(output)
    }
    const [balances, params, account] = await Promise.all([
      query('bank', 'all-balances', bob),
      query('staking', 'params'),
      query('auth', 'account', alice),
    ])
    expect(balances).toEqual(await getJson(node, `/cosmos/bank/v1beta1/balances/${bob}`))
    expect(params).toEqual(await getJson(node, '/cosmos/staking/v1beta1/params'))
    expect(account).toEqual(await getJson(node, `/cosmos/auth/v1beta1/accounts/${alice}`))
  })
})

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
async function postTx(path: string, body: unknown): Promise<{ readonly status: number; readonly body: any }> {
  const response = await fetch(new URL(path.slice(1), node.url), { method: 'POST', body: JSON.stringify(body) })
  return { status: response.status, body: await response.json() }
}

// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
type Answer = { readonly id?: unknown; readonly result?: any; readonly error?: any }

/** What Keplr's tracer of transactions keeps open. */
async function openSocket() {
  const socket = new WebSocket(`${cometUrl(node).replace('http', 'ws')}/websocket`)
  const heard: Answer[] = []
  socket.on('message', (data) => heard.push(JSON.parse(String(data)) as Answer))
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return {
    send: (request: object) => socket.send(JSON.stringify({ jsonrpc: '2.0', ...request })),
    next: async (matches: (answer: Answer) => boolean): Promise<Answer> => {
      await expect.poll(() => heard.some(matches), { timeout: 10_000 }).toBe(true)
      return heard.find(matches)!
    },
    close: () => socket.close(),
  }
}
