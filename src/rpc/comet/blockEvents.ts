import { entryHash } from '../../chain/block/entries.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import { eventsOfEntry } from '../../execution/entryEvents.ts'
import { bytesToUpperHex } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
import { type EventValues, eventValues } from '../events/eventQuery.ts'
import type { JsonObject } from '../format/json.ts'
import type { RpcContext } from '../jsonrpc/method.ts'
import { blockJson, headerJson } from './json/block.ts'
import { evidenceJson } from './json/evidence.ts'
import { blockEventsJson, blockResultsJson, entryTxResult, powerChanges, txResultJson } from './json/results.ts'
import { base64, blockIdJson, publicKeyJson } from './json/values.ts'

/** An event that clients can subscribe to. */
export interface CometEvent {
  /** values that queries are matched with */
  readonly values: EventValues
  /** Returns `{type, value}`, made on demand. */
  data(): { readonly type: string; readonly value: unknown }
}

/**
 * Kinds of events of a block, in CometBFT's order (state/execution.go, fireEvents): `Tx` once for
 * each transaction, `NewEvidence` for each piece of evidence.
 */
export const BLOCK_EVENT_KINDS = [
  'NewBlock',
  'NewBlockHeader',
  'NewBlockEvents',
  'NewEvidence',
  'Tx',
  'ValidatorSetUpdates',
] as const
type BlockEventKind = (typeof BLOCK_EVENT_KINDS)[number]

/** Source of the events. */
export type BlockEventsContext = Pick<RpcContext, 'view' | 'chain'>

/** Yields a block's events of one kind. The block must be retained. */
export function* blockEventsOf(
  { view, chain: config }: BlockEventsContext,
  height: number,
  kind: BlockEventKind,
): IterableIterator<CometEvent> {
  const { chain } = view
  const block = chain.consensusBlock(height)
  if (block === undefined) throw new Error(`block ${height} was published without its body`)
  switch (kind) {
    case 'NewBlock':
      yield event(kind, ownBlockValues(chain, height, kind), () => {
        const results = blockResultsJson(view, config, height)
        return {
          block: blockJson(block),
          block_id: blockIdJson(chain.blockId(height)!),
          result_finalize_block: finalizeBlockJson(results),
        }
      })
      return
    case 'NewBlockHeader':
      yield event(kind, ownBlockValues(chain, height, kind), () => ({ header: headerJson(block.header) }))
      return
    case 'NewBlockEvents':
      yield event(kind, ownBlockValues(chain, height, kind), () => ({
        height: String(height),
        events: blockEventsJson(chain, height),
        num_txs: String(block.txs.length),
      }))
      return
    case 'NewEvidence':
      for (const evidence of block.evidence) {
        yield event(kind, eventValues([], { 'tm.event': kind }), () => ({
          height: String(height),
          evidence: evidenceJson(evidence),
        }))
      }
      return
    case 'ValidatorSetUpdates':
      yield* validatorSetUpdates(chain, height)
      return
    case 'Tx':
      yield* transactions(chain, height, block.txs)
  }
}

/**
 * Formats abci.ResponseFinalizeBlock as Go writes it here, unlike in `block_results`: empty values
 * are omitted, and `validator_updates` is a list. Typed clients (tendermint-rpc of Rust) accept
 * null for neither.
 */
function finalizeBlockJson(results: JsonObject): JsonObject {
  const { finalize_block_events, txs_results, validator_updates, consensus_param_updates, app_hash } = results
  return {
    ...(isEmpty(finalize_block_events) ? {} : { events: finalize_block_events }),
    ...(isEmpty(txs_results) ? {} : { tx_results: txs_results }),
    validator_updates: validator_updates ?? [],
    ...(consensus_param_updates === null ? {} : { consensus_param_updates }),
    app_hash: app_hash ?? null,
  }
}

function isEmpty(list: unknown): boolean {
  return list === null || (Array.isArray(list) && list.length === 0)
}

function event(kind: BlockEventKind, values: EventValues, value: () => unknown): CometEvent {
  return { values, data: () => ({ type: `tendermint/event/${kind}`, value: value() }) }
}

function ownBlockValues(chain: ChainReader, height: number, kind: BlockEventKind): EventValues {
  const events = chain.blockEvents(height)
  return eventValues(events === undefined ? [] : [...events.begin, ...events.end], {
    'tm.event': kind,
    'block.height': String(height),
  })
}

function* transactions(chain: ChainReader, height: number, txs: readonly Uint8Array[]): IterableIterator<CometEvent> {
  for (const [position, entry] of (chain.entryResults(height) ?? []).entries()) {
    const tx = txs[position]!
    const values = eventValues(eventsOfEntry(entry), {
      'tm.event': 'Tx',
      'tx.hash': bytesToUpperHex(entryHash(tx)),
      'tx.height': String(height),
    })
    yield event('Tx', values, () => ({
      TxResult: {
        height: String(height),
        // Go omits zeros.
        ...(position === 0 ? {} : { index: position }),
        tx: base64(tx),
        result: txResultJson(entryTxResult(entry)),
      },
    }))
  }
}

function* validatorSetUpdates(chain: ChainReader, height: number): IterableIterator<CometEvent> {
  const changes = powerChanges(chain, height)
  if (changes.length === 0) return
  yield event('ValidatorSetUpdates', eventValues([], { 'tm.event': 'ValidatorSetUpdates' }), () => ({
    validator_updates: changes.map(({ publicKey, power }) => ({
      address: bytesToUpperHex(sha256(publicKey).subarray(0, 20)),
      pub_key: publicKeyJson(publicKey),
      voting_power: power.toString(),
      proposer_priority: '0',
    })),
  }))
}
