import { type GetTxResponse, ServiceClientImpl } from 'cosmjs-types/cosmos/tx/v1beta1/service'
import { Tx as TheirTx } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { entryHash } from '../../../../src/chain/block/entries.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { AuthInfo, Tx, TxRaw } from '../../../../src/modules/tx/types.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import type { Json } from '../../../../src/primitives/protoScalars.ts'
import { wrapEthereumTx } from '../../../../src/rpc/cosmos/ethereumTx.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { anyOf, signTestTransaction } from '../../../native/signTransaction.ts'
import { WALLET_KEY } from '../../../support/execution/testChain.ts'
import {
  coins,
  HOLDER,
  makeHistory,
  type NativeHistory,
  NOBODY,
  ONE_COIN,
  OTHER,
  sendMessage,
  signed,
} from '../../../support/rpc/cosmos/nativeHistory.ts'
import { createNativeNode, type NativeNode } from '../../../support/rpc/cosmos/nativeNode.ts'

let node: NativeNode
let history: NativeHistory

beforeAll(async () => {
  node = await createNativeNode()
  history = await makeHistory(node)
})
afterEach(() => {
  node.pool.answer = undefined
  node.pool.submitted.length = 0
})
afterAll(async () => {
  expect(node.logged).toEqual([])
  await node.close()
})

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
const hashOf = (raw: Uint8Array) => Buffer.from(entryHash(raw)).toString('hex').toUpperCase()

/** A transfer of the holder's that gives more gas than it needs. */
async function evmTransaction({ nonce, gas }: { readonly nonce: number; readonly gas: bigint }) {
  const fields = { chainId: 76287, type: 'eip1559', to: `0x${'99'.repeat(20)}`, maxPriorityFeePerGas: 1n } as const
  const account = privateKeyToAccount(WALLET_KEY)
  const raw = await account.signTransaction({ ...fields, nonce, gas, maxFeePerGas: 10n ** 10n })
  return { raw: hexToBytes(raw), sender: hexToBytes(account.address) }
}

/** The gateway's JSON of a transaction. */
interface ShownTx {
  readonly tx: {
    readonly body: { readonly messages: readonly Json[]; readonly memo: string }
    readonly auth_info: Json
  }
  readonly tx_response: Readonly<Record<string, Json>> & {
    readonly events: readonly { readonly type: string; readonly attributes: readonly Json[] }[]
  }
}

async function txOf(hash: string): Promise<ShownTx> {
  const { status, json } = await node.get(`/cosmos/tx/v1beta1/txs/${hash}`)
  expect(status).toBe(200)
  return json as unknown as ShownTx
}

describe('a transaction by its hash', () => {
  it('is shown as the SDK shows it', async () => {
    const { tx, tx_response } = await txOf(hashOf(history.send))
    const message = {
      '@type': '/cosmos.bank.v1beta1.MsgSend',
      from_address: HOLDER,
      to_address: OTHER.bech32,
      amount: [{ denom: 'acoin', amount: '5000000000000000000' }],
    }
    expect(tx).toEqual({
      body: {
        messages: [message],
        memo: 'hello',
        timeout_height: '0',
        extension_options: [],
        non_critical_extension_options: [],
      },
      auth_info: {
        signer_infos: [
          {
            public_key: {
              '@type': '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey',
              key: 'A4MYU1tUEF1Keq5gwI/EX5aHGBtP38YlvRp1P6c5f+11',
            },
            mode_info: { single: { mode: 'SIGN_MODE_DIRECT' } },
            sequence: '0',
          },
        ],
        fee: {
          amount: [{ denom: 'acoin', amount: '1000000000000000' }],
          gas_limit: '1000000',
          payer: '',
          granter: '',
        },
        tip: null,
      },
      signatures: [base64(TxRaw.decode(history.send).signatures[0]!)],
    })
    const { events, data, gas_used, ...response } = tx_response
    expect(response).toEqual({
      height: '1',
      txhash: hashOf(history.send),
      codespace: '',
      code: 0,
      raw_log: '',
      logs: [],
      info: '',
      gas_wanted: '1000000',
      tx: { '@type': '/cosmos.tx.v1beta1.Tx', ...tx },
      timestamp: '2023-11-14T22:13:20Z',
    })
    expect(Number(gas_used)).toBeGreaterThan(12_000)
    expect(data).toMatch(/^([0-9A-F]{2})+$/)
    const moved = events.filter(({ type }) => type === 'transfer').flatMap(({ attributes }) => attributes)
    expect(moved).toContainEqual({ key: 'recipient', value: OTHER.bech32, index: true })
    expect(moved).toContainEqual({ key: 'amount', value: '5000000000000000000acoin', index: true })
  })

  it('is found in small letters and with 0x', async () => {
    const hash = hashOf(history.send)
    const expected = await txOf(hash)
    expect(await txOf(hash.toLowerCase())).toEqual(expected)
    expect(await txOf(`0x${hash}`)).toEqual(expected)
  })

  it('is shown with its error when it failed', async () => {
    const { tx_response } = await txOf(hashOf(history.failed))
    expect(tx_response).toMatchObject({ height: '3', codespace: 'sdk', code: 5, data: '' })
    expect(tx_response.raw_log).toMatch(/insufficient funds$/)
  })

  it('is shown in an envelope when it is an EVM transaction', async () => {
    const { tx, tx_response } = await txOf(hashOf(history.evm))
    expect(tx.body.messages).toEqual([
      {
        '@type': '/cosmos.evm.vm.v1.MsgEthereumTx',
        from: Buffer.from('f39fd6e51aad88f6f4ce6ab8827279cfffb92266', 'hex').toString('base64'),
        raw: bytesToHex(history.evm),
      },
    ])
    expect(tx.auth_info).toMatchObject({
      fee: { amount: [{ denom: 'acoin', amount: (21_000n * 10n ** 10n).toString() }], gas_limit: '21000' },
    })
    expect(tx_response).toMatchObject({ code: 0, gas_used: '21000', height: '3', txhash: hashOf(history.evm) })
    const moved = tx_response.events.flatMap(({ attributes }) => attributes)
    expect(moved).toContainEqual({ key: 'amount', value: '7acoin', index: true })
  })

  it('decodes with cosmjs-types', async () => {
    const client = new ServiceClientImpl({
      request: async (service, method, protobuf) => {
        const call = { path: `/${service}/${method}`, request: { protobuf }, height: 0 }
        const answer = await node.port.query('cheap', call, OWN_SCOPE)
        if (answer.kind !== 'protobuf') throw new Error(JSON.stringify(answer))
        return answer.protobuf
      },
    })
    const found: GetTxResponse = await client.GetTx({ hash: hashOf(history.send) })
    expect(found.tx?.body?.memo).toBe('hello')
    expect(found.txResponse).toMatchObject({ height: 1n, code: 0, txhash: hashOf(history.send) })
    expect(TheirTx.encode(found.tx!).finish()).toEqual(history.send)
    const block = await client.GetBlockWithTxs({ height: 3n })
    expect(block.txs).toHaveLength(2)
    expect(block.block?.data?.txs).toEqual([history.evm, history.failed])
  })

  it.each([
    [`${'0'.repeat(64)}`, 404, 5],
    ['abc', 400, 3],
    ['0x', 400, 3],
    [`${'g'.repeat(64)}`, 400, 3],
  ])('is not found: %s', async (hash, status, code) => {
    expect(await node.get(`/cosmos/tx/v1beta1/txs/${hash}`)).toMatchObject({ status, json: { code } })
  })
})

describe('transactions by their events', () => {
  const search = async (query: string) => {
    const { status, json } = await node.get(`/cosmos/tx/v1beta1/txs?${query}`)
    expect(status, JSON.stringify(json)).toBe(200)
    const { tx_responses, ...rest } = json as unknown as {
      tx_responses: { txhash: string }[]
      txs: Json[]
      pagination: null
      total: string
    }
    expect(rest.txs).toHaveLength(tx_responses.length)
    expect(rest.pagination).toBeNull()
    return { hashes: tx_responses.map(({ txhash }) => txhash), total: rest.total }
  }
  const q = (text: string) => encodeURIComponent(text)

  it('are found by sender, oldest first, and the other way round', async () => {
    const bySender = `query=${q(`message.sender='${HOLDER}'`)}`
    const { hashes, total } = await search(bySender)
    expect(total).toBe('4')
    expect(hashes).toHaveLength(4)
    expect(hashes[0]).toBe(hashOf(history.send))
    expect((await search(`${bySender}&order_by=ORDER_BY_DESC`)).hashes).toEqual(hashes.toReversed())
    expect(await search(`${bySender}&limit=3&page=2`)).toEqual({ hashes: hashes.slice(3), total: '4' })
    expect(await search(`${bySender}&pagination.limit=1&pagination.offset=1`)).toEqual({
      hashes: [hashes[1]],
      total: '4',
    })
    expect(await search(`${bySender}&page=9`)).toEqual({ hashes: [], total: '4' })
    expect(await search(`${bySender}&page=18446744073709551615&limit=18446744073709551615`)).toEqual({
      hashes: [],
      total: '4',
    })
  })

  it.each([
    [`transfer.recipient='${OTHER.bech32}'`, 2],
    [`transfer.recipient='${OTHER.bech32}' AND tx.height=1`, 1],
    [`transfer.recipient='${NOBODY.bech32}'`, 0],
    ["message.action='/cosmos.bank.v1beta1.MsgSend' AND tx.height<2", 1],
    ['tx.height=2', 1],
    ['tx.height>1', 3],
  ])('are found by %s', async (query, count) => {
    expect((await search(`query=${q(query)}`)).total).toBe(String(count))
  })

  it('are found by the events of older clients', async () => {
    const events = `events=${q(`transfer.recipient='${OTHER.bech32}'`)}&events=${q('tx.height=1')}`
    expect((await search(events)).hashes).toEqual([hashOf(history.send)])
  })

  it.each([
    '',
    'query=',
    `query=${q('nothing')}`,
    `query=${q("a.b='")}`,
    'query=x%3D1%20OR%20y%3D2',
    'limit=-1&query=tx.height%3D1',
    'order_by=UP&query=tx.height%3D1',
  ])('are not searched by %s', async (query) => {
    expect(await node.get(`/cosmos/tx/v1beta1/txs?${query}`)).toMatchObject({ status: 400, json: { code: 3 } })
  })
})

describe('simulation', () => {
  const simulate = (raw: Uint8Array) => node.post('/cosmos/tx/v1beta1/simulate', { tx_bytes: base64(raw) })

  it('shows the gas that the transaction uses', async () => {
    const raw = signed(4, [sendMessage(1n)])
    const { status, json } = await simulate(raw)
    expect(status).toBe(200)
    const { gas_info, result } = json as unknown as {
      gas_info: { gas_wanted: string; gas_used: string }
      result: { data: string; log: string; events: { type: string }[]; msg_responses: Json[] }
    }
    expect(result).toMatchObject({ log: '', msg_responses: [{ '@type': '/cosmos.bank.v1beta1.MsgSendResponse' }] })
    expect(result.events.map(({ type }) => type)).toContain('transfer')
    expect(BigInt(gas_info.gas_used)).toBeGreaterThan(12_000n)
    // Nothing of it stays.
    expect((await simulate(raw)).json).toEqual(json)
  })

  it('is for transactions of a size that a block could hold', async () => {
    const raw = signed(
      4,
      Array.from({ length: 1_500 }, () => sendMessage(1n)),
    )
    const { status, json } = await simulate(raw)
    expect(status).toBe(400)
    expect((json as { message: string }).message).toMatch(/^Tx too large/)
  })

  it('needs neither signature nor fee', async () => {
    const raw = signed(4, [sendMessage(1n)])
    const { bodyBytes, authInfoBytes } = TxRaw.decode(raw)
    const authInfo = AuthInfo.decode(authInfoBytes)
    const bare = AuthInfo.encode({ ...authInfo, fee: { amount: [], gasLimit: 0n, payer: '', granter: '' } })
    const unsigned = TxRaw.encode({ bodyBytes, authInfoBytes: bare, signatures: [new Uint8Array(0)] })
    const { status, json } = await simulate(unsigned)
    expect(status, JSON.stringify(json)).toBe(200)
    expect(Number((json as { gas_info: { gas_used: string } }).gas_info.gas_used)).toBeGreaterThan(12_000)
    // The old field, which has the transaction itself.
    const asJson = Tx.toJson(Tx.decode(unsigned), {
      typeOf: (url) => (url === MsgSend.typeUrl ? MsgSend : undefined),
    }) as { auth_info: { signer_infos: { public_key: Json }[] } }
    asJson.auth_info.signer_infos[0]!.public_key = {
      '@type': '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey',
      key: 'A4MYU1tUEF1Keq5gwI/EX5aHGBtP38YlvRp1P6c5f+11',
    }
    expect((await node.post('/cosmos/tx/v1beta1/simulate', { tx: asJson })).json).toEqual(json)
  })

  it('runs a wrapped EVM transaction in the next block, by the gas that it uses', async () => {
    const { raw: sent, sender } = await evmTransaction({ nonce: 4, gas: 90_000n })
    const raw = Tx.encode(wrapEthereumTx(sent, sender))
    const { status, json } = await simulate(raw)
    expect(status, JSON.stringify(json)).toBe(200)
    expect(json).toMatchObject({
      gas_info: { gas_wanted: '90000', gas_used: '21000' },
      result: {
        msg_responses: [{ '@type': '/cosmos.evm.vm.v1.MsgEthereumTxResponse', vm_error: '', gas_used: '21000' }],
      },
    })
    expect((await simulate(raw)).json).toEqual(json)
    const late = await evmTransaction({ nonce: 0, gas: 90_000n })
    for (const [wrong, text] of [
      [wrapEthereumTx(late.raw, sender), /nonce too low/],
      [wrapEthereumTx(sent, new Uint8Array(20)), /another sender/],
    ] as const) {
      const refused = await simulate(Tx.encode(wrong))
      expect(refused).toMatchObject({ status: 400, json: { code: 2, message: expect.stringMatching(text) } })
    }
  })

  it.each<[name: string, raw: () => Uint8Array, message: RegExp]>([
    [
      'of more than there is',
      () => signed(4, [sendMessage(10n ** 30n)]),
      /insufficient funds with gas used: '[1-9]\d*'$/,
    ],
    ['with a sequence of the past', () => signed(3, [sendMessage(1n)]), /incorrect account sequence/],
    ['of bytes', () => Uint8Array.of(10, 1), /tx parse error with gas used: '0'$/],
    ['of an EVM transaction', () => history.evm, /tx parse error/],
    [
      'of somebody without coins',
      () =>
        signTestTransaction({
          messages: [anyOf(MsgSend, { fromAddress: NOBODY.bech32, toAddress: HOLDER, amount: coins(1n) })],
          signers: [NOBODY],
        }),
      /insufficient funds/,
    ],
  ])('of a transaction %s is an error', async (_, raw, message) => {
    const { status, json } = await simulate(raw())
    expect(status).toBe(400)
    expect(json).toEqual({ code: 2, message: expect.stringMatching(message), details: [] })
  })
})

describe('broadcast', () => {
  const send = (raw: Uint8Array, mode: Json) => node.post('/cosmos/tx/v1beta1/txs', { tx_bytes: base64(raw), mode })
  const response = (more: object) => ({
    tx_response: {
      height: '0',
      codespace: '',
      code: 0,
      data: '',
      raw_log: '',
      logs: [],
      info: '',
      gas_wanted: '0',
      gas_used: '0',
      tx: null,
      timestamp: '',
      events: [],
      ...more,
    },
  })

  it.each(['BROADCAST_MODE_SYNC', 2, 'BROADCAST_MODE_ASYNC', 3])(
    'gives the pool the transaction, mode %s',
    async (mode) => {
      const raw = signed(4, [sendMessage(ONE_COIN)])
      expect(await send(raw, mode)).toMatchObject({ status: 200, json: response({ txhash: hashOf(raw) }) })
      expect(node.pool.submitted).toEqual([raw])
    },
  )

  it('takes EVM transactions too', async () => {
    expect(await send(history.evm, 'BROADCAST_MODE_SYNC')).toMatchObject({
      status: 200,
      json: response({ txhash: hashOf(history.evm) }),
    })
    expect(node.pool.submitted).toEqual([history.evm])
  })

  it('reports why the pool refuses it, but not to a client that asks for async', async () => {
    const raw = signed(9, [sendMessage(ONE_COIN)])
    const reason = 'tx already in mempool'
    node.pool.answer = { accepted: false, reason, error: { codespace: 'sdk', code: 19 } }
    expect((await send(raw, 'BROADCAST_MODE_SYNC')).json).toEqual(
      response({ txhash: hashOf(raw), codespace: 'sdk', code: 19, raw_log: reason }),
    )
    expect((await send(raw, 'BROADCAST_MODE_ASYNC')).json).toEqual(response({ txhash: hashOf(raw) }))
  })

  it('reports what is wrong with it', async () => {
    const raw = signed(4, [sendMessage(ONE_COIN)])
    raw[raw.length - 20]! ^= 1
    expect((await send(raw, 'BROADCAST_MODE_SYNC')).json).toMatchObject({
      tx_response: { code: 4, codespace: 'sdk', txhash: hashOf(raw) },
    })
    expect((await send(Uint8Array.of(10, 1), 2)).json).toMatchObject({ tx_response: { code: 2, codespace: 'sdk' } })
    expect(node.pool.submitted).toEqual([])
  })

  it.each(['BROADCAST_MODE_BLOCK', 'BROADCAST_MODE_UNSPECIFIED', 7, 'NOW', null])(
    'does not know mode %s',
    async (mode) => {
      expect(await send(history.send, mode)).toMatchObject({ status: 400, json: { code: 3 } })
    },
  )

  it('wants a transaction', async () => {
    expect(await send(new Uint8Array(0), 2)).toMatchObject({ status: 400, json: { code: 3 } })
  })
})

describe('blocks with transactions, and encodings', () => {
  it('has the transactions of a block', async () => {
    const { json } = await node.get('/cosmos/tx/v1beta1/txs/block/3')
    expect(json).toMatchObject({
      txs: [{ body: { messages: [{ '@type': '/cosmos.evm.vm.v1.MsgEthereumTx' }] } }, { body: { memo: '' } }],
      block: { header: { height: '3' }, data: { txs: [base64(history.evm), base64(history.failed)] } },
      pagination: { next_key: null, total: '2' },
    })
    const second = await node.get('/cosmos/tx/v1beta1/txs/block/3?pagination.offset=1&pagination.limit=1')
    expect((second.json as { txs: Json[] }).txs).toHaveLength(1)
    expect(second.json).toMatchObject({ pagination: { total: '2' } })
    for (const height of ['0', '5', '-1', 'x']) {
      expect(await node.get(`/cosmos/tx/v1beta1/txs/block/${height}`)).toMatchObject({ status: 400, json: { code: 3 } })
    }
  })

  it('decodes and encodes', async () => {
    const decoded = await node.post('/cosmos/tx/v1beta1/decode', { tx_bytes: base64(history.send) })
    expect(decoded.json).toMatchObject({ tx: { body: { memo: 'hello' } } })
    const encoded = await node.post('/cosmos/tx/v1beta1/encode', decoded.json)
    expect(encoded.json).toEqual({ tx_bytes: base64(history.send) })
    expect(await node.post('/cosmos/tx/v1beta1/decode', { tx_bytes: 'AAAA' })).toMatchObject({ status: 400 })
    expect(await node.post('/cosmos/tx/v1beta1/encode', {})).toMatchObject({ status: 400 })
  })
})
