import { type AbciFailure, abciFailure } from '../../modules/query/queryError.ts'
import type { CallScope } from '../jsonrpc/callScope.ts'
import { MAX_QUERY_BYTES, type NativeAnswer, type NativePort, type QueryTable } from './queryPort.ts'

/** abci.RequestQuery */
interface AbciQuery {
  readonly path: string
  readonly data: Uint8Array
  /** 0: the newest */
  readonly height: bigint
  readonly prove: boolean
}

/** The fields of abci.ResponseQuery that are filled here. */
interface AbciQueryResult extends AbciFailure {
  readonly value: Uint8Array
  readonly height: number
}

export interface AbciQueryOptions {
  readonly queries: QueryTable
  readonly port: NativePort
  /** of the software: what `/app/version` answers */
  readonly version: string
}

const NOTHING = new Uint8Array(0)
const BROADCAST = '/cosmos.tx.v1beta1.Service/BroadcastTx'

/** Answers an abci_query (baseapp/abci.go, Query). A proof is never part of the answer: eth_getProof gives those. */
export async function abciQuery(
  { queries, port, version }: AbciQueryOptions,
  { path, data, height, prove }: AbciQuery,
  scope: CallScope,
): Promise<AbciQueryResult> {
  if (height < 0n) return refused(18, 'cannot query with height < 0; please provide a valid height: invalid request')
  if (path === BROADCAST) return refused(18, "can't route a broadcast tx message: invalid request")
  const query = queries.get(path)
  if (query === undefined) return appQuery(path, version)
  if (data.length > MAX_QUERY_BYTES) return refused(18, 'the request is too large: invalid request')
  if (height === 1n && prove) {
    return refused(18, 'cannot query with proof when height <= 1; please provide a valid height: invalid request')
  }
  const answer = await port.query(query.runs, { path, request: { protobuf: data }, height: clamp(height) }, scope)
  return answer.kind === 'protobuf'
    ? { code: 0, codespace: '', log: '', value: answer.protobuf, height: answer.height }
    : { ...failureOf(answer), value: NOTHING, height: clamp(height) }
}

/** The answer to a path that is not of gRPC (baseapp/abci.go, handleQueryApp). */
function appQuery(path: string, version: string): AbciQueryResult {
  const [first = '', second = ''] = path.split('/').filter((part) => part !== '')
  if (first === '') return refused(6, 'no query path provided: unknown request')
  if (first !== 'app') return refused(6, 'unknown query path: unknown request')
  if (second !== 'version') return refused(6, `unknown query: ${path}: unknown request`)
  return { code: 0, codespace: 'sdk', log: '', value: new TextEncoder().encode(version), height: 0 }
}

function failureOf(answer: Exclude<NativeAnswer, { readonly kind: 'protobuf' }>): AbciFailure {
  if (answer.kind === 'error') return abciFailure(answer)
  throw new Error('a view thread answered in another form than it was asked')
}

function refused(code: number, log: string): AbciQueryResult {
  return { code, codespace: 'sdk', log, value: NOTHING, height: 0 }
}

/** As a number: no chain is longer than the largest safe integer. */
function clamp(height: bigint): number {
  return Number(height > BigInt(Number.MAX_SAFE_INTEGER) ? BigInt(Number.MAX_SAFE_INTEGER) : height)
}
