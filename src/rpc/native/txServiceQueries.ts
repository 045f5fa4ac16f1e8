import { MESSAGES } from '../../modules/messages.ts'
import { PageRequest, PageResponse } from '../../modules/pagination.ts'
import { isSdkError } from '../../modules/sdkError.ts'
import { decodeTransaction } from '../../modules/tx/decodedTransaction.ts'
import { Tx } from '../../modules/tx/txTypes.ts'
import { bytes, enumeration, int64, message, repeated, string } from '../../primitives/protoSchema.ts'
import { upperHex } from '../comet/json/text.ts'
import { locateTransaction } from '../events/findTransactions.ts'
import { submitTransaction } from '../submitTransaction.ts'
import { toBlockIdMessage, toBlockMessage } from './blockMessages.ts'
import { Block, BlockId } from './messages/cometTypes.ts'
import { TxResponse } from './messages/txMessages.ts'
import { paginate, positionWalk } from './paginate.ts'
import { defineQuery, type NativeQuery } from './query.ts'
import { fromSdkError, invalidArgument, notFound } from './queryError.ts'
import { searchTransactionsQuery } from './searchTransactionsQuery.ts'
import { simulateQuery } from './simulateQuery.ts'
import { showTransaction } from './txResponse.ts'

const SERVICE = 'cosmos.tx.v1beta1.Service'
const BASE = '/cosmos/tx/v1beta1'

const BROADCAST_MODES = {
  BROADCAST_MODE_UNSPECIFIED: 0,
  BROADCAST_MODE_BLOCK: 1,
  BROADCAST_MODE_SYNC: 2,
  BROADCAST_MODE_ASYNC: 3,
} as const

/** x/auth/tx/service.go and client/broadcast.go of the SDK. */
export const TX_SERVICE_QUERIES: readonly NativeQuery[] = [
  simulateQuery,
  defineQuery({
    service: SERVICE,
    name: 'GetTx',
    get: [`${BASE}/txs/{hash}`],
    request: { hash: string(1) },
    response: { tx: message(1, Tx), txResponse: message(2, TxResponse) },
    run: async ({ chain }, { hash }) => {
      const digits = hash.replace(/^0x/i, '')
      if (digits === '') throw invalidArgument('tx hash cannot be empty')
      if (!/^[0-9a-f]{64}$/i.test(digits))
        throw invalidArgument(`a tx hash is 64 hex digits, not ${hash.slice(0, 100)}`)
      const place = await locateTransaction(chain, new Uint8Array(Buffer.from(digits, 'hex')))
      const shown = place && showTransaction(chain, place)
      if (shown === undefined) throw notFound(`tx not found: ${hash}`)
      return { tx: shown.tx, txResponse: shown.response }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'BroadcastTx',
    post: [`${BASE}/txs`],
    request: { txBytes: bytes(1), mode: enumeration(2, BROADCAST_MODES) },
    response: { txResponse: message(1, TxResponse) },
    run: async ({ rpc }, { txBytes, mode }) => {
      if (txBytes.length === 0) throw invalidArgument('invalid empty tx')
      if (mode !== BROADCAST_MODES.BROADCAST_MODE_SYNC && mode !== BROADCAST_MODES.BROADCAST_MODE_ASYNC) {
        throw invalidArgument('unsupported broadcast mode; supported types: sync, async')
      }
      const { hash, code, codespace, log } = await submitTransaction(rpc, txBytes)
      const txhash = upperHex(hash)
      // Who asks for async does not want to know what became of it.
      const checked = mode === BROADCAST_MODES.BROADCAST_MODE_SYNC ? { code, codespace, rawLog: log } : {}
      return { txResponse: TxResponse.create({ txhash, ...checked }) }
    },
  }),
  searchTransactionsQuery,
  defineQuery({
    service: SERVICE,
    name: 'GetBlockWithTxs',
    get: [`${BASE}/txs/block/{height}`],
    request: { height: int64(1), pagination: message(2, PageRequest) },
    response: {
      txs: repeated(message(1, Tx)),
      blockId: message(2, BlockId),
      block: message(3, Block),
      pagination: message(4, PageResponse),
    },
    run: async (context, { height: asked, pagination: page }) => {
      const { chain } = context
      if (asked < 1n || asked > chain.headHeight) {
        throw invalidArgument(
          `requested height ${asked} but height must not be less than 1 or greater than the current height ${chain.headHeight}`,
        )
      }
      const height = Number(asked)
      const block = chain.consensusBlock(height)
      if (block === undefined) throw notFound(`block ${height} is not available`)
      const walk = positionWalk([...block.txs.keys()])
      const { items, pagination } = await paginate(
        context,
        page,
        walk,
        (position) => showTransaction(chain, { height, position })?.tx,
      )
      return { txs: items, blockId: toBlockIdMessage(chain.blockId(height)!), block: toBlockMessage(block), pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'TxDecode',
    post: [`${BASE}/decode`],
    request: { txBytes: bytes(1) },
    response: { tx: message(1, Tx) },
    run: (_, { txBytes }) => {
      if (txBytes.length === 0) throw invalidArgument('invalid empty tx bytes')
      const decoded = decodeTransaction(txBytes, MESSAGES)
      if (isSdkError(decoded)) throw fromSdkError(decoded)
      const { body, authInfo, txRaw } = decoded
      return { tx: { body, authInfo, signatures: txRaw.signatures } }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'TxEncode',
    post: [`${BASE}/encode`],
    request: { tx: message(1, Tx) },
    response: { txBytes: bytes(1) },
    run: (_, { tx }) => {
      if (tx === undefined) throw invalidArgument('invalid empty tx')
      return { txBytes: Tx.encode(tx) }
    },
  }),
]
