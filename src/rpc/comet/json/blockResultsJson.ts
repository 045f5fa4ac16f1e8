import type { ValidatorSet } from '../../../chain/consensus/types.ts'
import type { NativeEvent } from '../../../chain/entries.ts'
import type { ChainReader } from '../../../chain/store.ts'
import { bytesKey } from '../../../primitives/bytes.ts'
import type { JsonObject } from '../../format/json.ts'
import { type ConsensusParamsConfig, type ConsensusParamsView, paramUpdatesJson } from './consensusParamsJson.ts'
import { entryTxResult } from './entryTxResult.ts'
import { base64 } from './text.ts'
import { eventJson, txResultJson } from './txResultJson.ts'

type BlockResultsChain = Pick<ChainReader, 'entryResults' | 'blockEvents' | 'hash' | 'validatorSetAt'>

/** A voting power that a block changed. */
interface PowerChange {
  readonly publicKey: Uint8Array
  /** 0: removed */
  readonly power: bigint
}

/** What block results are read from. */
export interface BlockResultsView extends ConsensusParamsView {
  readonly chain: BlockResultsChain & ConsensusParamsView['chain']
}

/** coretypes.ResultBlockResults, of a block that is kept. */
export function blockResultsJson(view: BlockResultsView, config: ConsensusParamsConfig, height: number): JsonObject {
  const { chain } = view
  const results = chain.entryResults(height) ?? []
  const updates = powerChanges(chain, height)
  return {
    height: String(height),
    txs_results: results.length === 0 ? null : results.map((entry) => txResultJson(entryTxResult(entry))),
    finalize_block_events: blockEventsJson(chain, height),
    validator_updates: updates.length === 0 ? null : updates.map(validatorUpdateJson),
    consensus_param_updates: paramUpdatesJson(view, config, height),
    app_hash: base64(chain.hash(height) ?? new Uint8Array(0)),
  }
}

/** Events of begin and end, told apart by the attribute that SDK 0.50 adds. */
export function blockEventsJson(chain: Pick<ChainReader, 'blockEvents'>, height: number): readonly JsonObject[] {
  const events = chain.blockEvents(height)
  if (events === undefined) return []
  return [
    ...events.begin.map((event) => withMode(event, 'BeginBlock')),
    ...events.end.map((event) => withMode(event, 'EndBlock')),
  ]
}

/** abci.ValidatorUpdate as Go writes it */
export function validatorUpdateJson({ publicKey, power }: PowerChange): JsonObject {
  const key = { type: 'tendermint.crypto.PublicKey_Ed25519', value: { ed25519: base64(publicKey) } }
  return { pub_key: { Sum: key }, ...(power === 0n ? {} : { power: power.toString() }) }
}

/** What the block changed: its updates act two blocks later, so they are what that block's validators differ by from the one's before. */
export function powerChanges({ validatorSetAt }: Pick<ChainReader, 'validatorSetAt'>, height: number): PowerChange[] {
  const before = validatorSetAt(height + 1)
  const after = validatorSetAt(height + 2)
  if (before === undefined || after === undefined || before === after) return []
  const powers = powersOf(before)
  const changed = after.validators.filter(({ publicKey, power }) => powers.get(bytesKey(publicKey)) !== power)
  const stays = powersOf(after)
  const removed = before.validators.filter(({ publicKey }) => !stays.has(bytesKey(publicKey)))
  return [...changed, ...removed.map(({ publicKey }) => ({ publicKey, power: 0n }))]
}

function powersOf({ validators }: ValidatorSet): ReadonlyMap<string, bigint> {
  return new Map(validators.map(({ publicKey, power }) => [bytesKey(publicKey), power]))
}

function withMode(event: NativeEvent, mode: string): JsonObject {
  const { type, attributes } = eventJson(event) as { readonly type: string; readonly attributes: readonly JsonObject[] }
  return { type, attributes: [...attributes, { key: 'mode', value: mode, index: false }] }
}
