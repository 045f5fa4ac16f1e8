import type { ChainReader } from '../../chain/store/chainReader.ts'
import type { ParityTrace } from '../../evm/tracers/parityTracer.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { beginReplay } from '../debug/blockReplay.ts'
import { heightOfTag } from '../eth/blockLookup.ts'
import { InvalidArgument, invalidParams, RPC_CODES, RpcError } from '../jsonrpc/errors.ts'
import { defineMethod, type ParamReader, type RpcContext } from '../jsonrpc/method.ts'
import { byNumber, readBlockNumberOrTag } from '../params/blockSelector.ts'
import { listReader, objectReader, readAddress, readCount } from '../params/values.ts'
import { localize, traceAll } from './replayTraces.ts'
import { withLimits } from './withLimits.ts'

type Mode = 'union' | 'intersection'

const readMode: ParamReader<Mode> = (json) => {
  if (json === 'union' || json === 'intersection') return json
  throw new InvalidArgument(`unknown mode ${JSON.stringify(json)}: want union or intersection`)
}

const readFilter = objectReader('TraceFilter', 'TraceFilter', {
  fromBlock: readBlockNumberOrTag,
  toBlock: readBlockNumberOrTag,
  fromAddress: listReader(readAddress, '[]common.Address'),
  toAddress: listReader(readAddress, '[]common.Address'),
  mode: readMode,
  after: readCount,
  count: readCount,
})
type Filter = ReturnType<typeof readFilter>

/** Most blocks with transactions that one request may execute again. */
const MAX_TRACED_BLOCKS = 1_000

/**
 * Calls by sender and recipient in a range of blocks (by default all up to the newest), `count` of
 * them after the first `after`. Where calls are indexed (INDEX_TRACES), only blocks with these
 * addresses are executed again.
 */
export const filter = defineMethod({
  name: 'trace_filter',
  runs: 'trace',
  params: [readFilter],
  run: (context, wanted) =>
    withLimits(context, async (limits) => {
      const { after = 0, count } = wanted
      const most = Math.min(count ?? Number.POSITIVE_INFINITY, context.limits.logResults)
      const matches = matcherOf(wanted)
      const out: unknown[] = []
      let [skipped, traced] = [0, 0]
      if (count === 0) return out
      for await (const height of candidates(context.view.chain, wanted, rangeOf(context, wanted), limits.pause)) {
        if (++traced > MAX_TRACED_BLOCKS) throw tooMany(`blocks with transactions in the range (${MAX_TRACED_BLOCKS})`)
        const replay = await beginReplay(context, byNumber(height), limits.pause)
        for await (const transaction of traceAll(replay, new Set(['trace']), limits)) {
          for (const trace of localize(transaction, replay)) {
            if (!matches(trace)) continue
            if (skipped < after) skipped++
            else out.push(trace)
            if (out.length === count) return out
            if (out.length > most) throw tooMany(`results (${most})`)
          }
        }
      }
      return out
    }),
})

function tooMany(what: string): RpcError {
  return new RpcError(
    RPC_CODES.limitExceeded,
    `too many ${what}: ask for fewer blocks, or for a part with after and count`,
  )
}

interface Range {
  readonly from: number
  readonly to: number
}

/** Resolves the range of blocks; block 0 has no transactions. @throws RpcError */
function rangeOf({ view, limits }: RpcContext, { fromBlock = 0, toBlock = 'latest' }: Filter): Range {
  const from = heightOfTag(view.chain, fromBlock)
  const to = heightOfTag(view.chain, toBlock)
  if (from > to) throw invalidParams('invalid parameters: fromBlock cannot be greater than toBlock')
  if (from > view.chain.headHeight) throw invalidParams('block range extends beyond current head block')
  if (to - from >= limits.logBlockRange) {
    throw new RpcError(RPC_CODES.limitExceeded, `exceed maximum block range ${limits.logBlockRange}`)
  }
  return { from: Math.max(from, 1), to: Math.min(to, view.chain.headHeight) }
}

const BLOCKS_PER_PAUSE = 256
/** With more addresses every block is executed, because each address needs a look-up of its own. */
const MAX_INDEXED_ADDRESSES = 256

/** Yields the heights, ascending, of blocks that have transactions and may have matching calls. */
async function* candidates(
  chain: ChainReader,
  wanted: Filter,
  { from, to }: Range,
  pause: () => Promise<void>,
): AsyncIterable<number> {
  const { fromAddress = [], toAddress = [] } = wanted
  const addresses = fromAddress.length + toAddress.length
  const isIndexed = addresses > 0 && addresses <= MAX_INDEXED_ADDRESSES
  const indexedFrom = isIndexed ? Math.max(from, chain.callsFrom) : Number.POSITIVE_INFINITY
  for (let height = from; height <= to && height < indexedFrom; height++) {
    if (height % BLOCKS_PER_PAUSE === 0) await pause()
    // Most blocks are empty, so executing them would be a waste.
    if (chain.header(height)?.gasUsed !== 0n) yield height
  }
  if (indexedFrom > to) return
  const look = (list: readonly Address[]) => chain.callHeights(list, indexedFrom, to, pause)
  if (!needsBoth(wanted)) {
    yield* await look([...fromAddress, ...toAddress])
  } else {
    const called = new Set(await look(toAddress))
    for (const height of await look(fromAddress)) if (called.has(height)) yield height
  }
}

/**
 * Returns whether a call has to match both lists. An empty list matches every address, so only the
 * other one counts then.
 */
function needsBoth({ fromAddress = [], toAddress = [], mode = 'intersection' }: Filter): boolean {
  return mode === 'intersection' && fromAddress.length > 0 && toAddress.length > 0
}

/**
 * Returns a test of traces by reth's rules (alloy: TraceFilterMatcher). An empty list matches every
 * address; of two lists, both or one must match, depending on the mode.
 */
function matcherOf({
  fromAddress = [],
  toAddress = [],
  mode = 'intersection',
}: Filter): (trace: ParityTrace) => boolean {
  const froms = new Set(fromAddress.map(toKey))
  const tos = new Set(toAddress.map(toKey))
  return ({ type, action, result }) => {
    const { from, to } = partiesOf(type, action as Parties, result as Parties | null)
    const isFrom = froms.size === 0 || froms.has(from ?? '')
    const isTo = tos.size === 0 || tos.has(to ?? '')
    if (mode === 'intersection' || froms.size === 0 || tos.size === 0) return isFrom && isTo
    return isFrom || isTo
  }
}

type Parties = Readonly<Partial<Record<'from' | 'to' | 'address' | 'refundAddress', string>>>

function partiesOf(type: unknown, action: Parties, result: Parties | null): Pick<Parties, 'from' | 'to'> {
  if (type === 'create') return { from: action.from!, ...(result?.address === undefined ? {} : { to: result.address }) }
  if (type === 'suicide') return { from: action.address!, to: action.refundAddress! }
  return { from: action.from!, to: action.to! }
}

function toKey(address: Address): string {
  return bytesToHex(address)
}
