import { entryHash, type NativeEvent, type StoredEntry } from '../../../chain/block/entries.ts'
import { type MerkleProof, merkleProofs } from '../../../chain/comet/merkle.ts'
import type { ValidatorSet } from '../../../chain/comet/types.ts'
import type { ChainReader } from '../../../chain/store/chainReader.ts'
import { eventsOfEntry } from '../../../execution/entryEvents.ts'
import { Tx } from '../../../modules/tx/types.ts'
import { bytesKey, bytesToUpperHex } from '../../../primitives/bytes.ts'
import { sha256 } from '../../../primitives/hash.ts'
import { wrapEthereumTx } from '../../cosmos/ethereumTx.ts'
import type { FoundTransaction, SearchChain } from '../../events/search.ts'
import type { JsonObject } from '../../format/json.ts'
import type { SubmitOutcome } from '../../submit/submitPort.ts'
import { type ConsensusParamsConfig, type ConsensusParamsView, paramUpdatesJson } from './consensusParams.ts'
import { base64 } from './values.ts'

/** abci.ExecTxResult as CometBFT writes it in JSON; ResponseCheckTx has the same fields. */
export interface TxResult {
  readonly code: number
  readonly data: Uint8Array
  readonly log: string
  readonly gasWanted: bigint
  readonly gasUsed: bigint
  readonly events: readonly NativeEvent[]
  readonly codespace: string
}

const NOTHING = new Uint8Array(0)

export const NO_TX_RESULT: TxResult = {
  code: 0,
  data: NOTHING,
  log: '',
  gasWanted: 0n,
  gasUsed: 0n,
  events: [],
  codespace: '',
}

export function txResultJson({ code, data, log, gasWanted, gasUsed, events, codespace }: TxResult): JsonObject {
  return {
    code,
    data: base64(data),
    log,
    info: '',
    gas_wanted: String(gasWanted),
    gas_used: String(gasUsed),
    events: events.map(eventJson),
    codespace,
  }
}

/** abci.ResponseCheckTx */
export function checkTxJson(checked: SubmitOutcome): JsonObject {
  return txResultJson({ ...checked, data: NOTHING, events: [] })
}

/** Formats an event; every attribute is indexed. */
function eventJson({ type, attributes }: NativeEvent): JsonObject {
  return { type, attributes: attributes.map(({ key, value }) => ({ key, value, index: true })) }
}

/**
 * Formats the result of an entry in a block's data.txs as CometBFT does, with the result codes that
 * last_results_hash covers.
 */
export function entryTxResult(entry: StoredEntry): TxResult {
  switch (entry.kind) {
    case 'native':
      return entry.result
    case 'skipped': {
      const { code, codespace, reason, gasWanted } = entry
      return { ...NO_TX_RESULT, code, codespace, log: reason, gasWanted }
    }
    case 'evm': {
      const { signed, receipt } = entry
      const ran = { gasWanted: signed.transaction.gasLimit, gasUsed: receipt.gasUsed, events: eventsOfEntry(entry) }
      if (receipt.status === 1) return { ...NO_TX_RESULT, ...ran }
      return { ...NO_TX_RESULT, ...ran, code: 1, codespace: 'evm', log: 'execution failed' }
    }
  }
}

/**
 * Formats coretypes.ResultTx. The block of `found` must be retained. For an EVM transaction, `tx`
 * is the form that Cosmos clients decode. The bytes in the block, which a proof covers, are in
 * `proof.data`.
 */
export function txJson(chain: SearchChain, { height, position }: FoundTransaction, prove: boolean): JsonObject {
  const { txs } = chain.consensusBlock(height)!
  const tx = txs[position]!
  const entry = chain.entryResults(height)![position]!
  const shown = entry.kind === 'evm' ? Tx.encode(wrapEthereumTx(tx, entry.signed.sender)) : tx
  return {
    hash: bytesToUpperHex(entryHash(tx)),
    height: String(height),
    index: position,
    tx_result: txResultJson(entryTxResult(entry)),
    tx: base64(shown),
    ...(prove ? { proof: proofJson(txs, position) } : {}),
  }
}

/** Formats types.TxProof, which proves that a transaction is part of the header's data_hash. */
function proofJson(txs: readonly Uint8Array[], position: number): JsonObject {
  const { root, proofs } = merkleProofs(txs.map((tx) => sha256(tx)))
  return { root_hash: bytesToUpperHex(root), data: base64(txs[position]!), proof: merkleProofJson(proofs[position]!) }
}

function merkleProofJson({ total, index, leafHash, aunts }: MerkleProof): JsonObject {
  return { total: String(total), index: String(index), leaf_hash: base64(leafHash), aunts: aunts.map(base64) }
}

type BlockResultsChain = Pick<ChainReader, 'entryResults' | 'blockEvents' | 'hash' | 'validatorSetAt'>

/** Source of block results. */
interface BlockResultsView extends ConsensusParamsView {
  readonly chain: BlockResultsChain & ConsensusParamsView['chain']
}

/** Formats coretypes.ResultBlockResults of a retained block. */
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

/** A voting power that a block changed. */
interface PowerChange {
  readonly publicKey: Uint8Array
  /** 0: removed */
  readonly power: bigint
}

/** Formats the events of begin and end, marked with the attribute `mode`, as SDK 0.50 does. */
export function blockEventsJson(chain: Pick<ChainReader, 'blockEvents'>, height: number): readonly JsonObject[] {
  const events = chain.blockEvents(height)
  if (events === undefined) return []
  return [
    ...events.begin.map((event) => withMode(event, 'BeginBlock')),
    ...events.end.map((event) => withMode(event, 'EndBlock')),
  ]
}

/** Formats abci.ValidatorUpdate as Go writes it. */
function validatorUpdateJson({ publicKey, power }: PowerChange): JsonObject {
  const key = { type: 'tendermint.crypto.PublicKey_Ed25519', value: { ed25519: base64(publicKey) } }
  return { pub_key: { Sum: key }, ...(power === 0n ? {} : { power: power.toString() }) }
}

/**
 * Returns the voting powers that a block changed. Its updates take effect two blocks later: they
 * are the difference between the validator sets of the heights + 1 and + 2.
 */
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
