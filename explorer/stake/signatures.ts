import { createHash } from 'node:crypto'
import type { IndexWriter, Row } from '../database/indexDatabase.ts'
import type { BlockResults, ConsensusBlock, ValidatorSet } from '../node/answers.ts'
import { type NodeClient, NodeRefusal } from '../node/nodeClient.ts'
import { ABSENCE_KINDS } from './tables.ts'

/** A block that a validator should have signed and did not. */
export interface Absence {
  /** address of its consensus key */
  readonly validator: Uint8Array
  readonly height: number
  /** one of ABSENCE_KINDS */
  readonly kind: number
}

/** The power that a validator has from this block on. */
export interface PowerChange {
  /** address of its consensus key */
  readonly validator: Uint8Array
  readonly height: number
  readonly power: number
}

type BlockWithCommit = { readonly height: number; readonly consensus: ConsensusBlock }

/** block_id_flag of an absent signature, and of a vote for nil (types/block.go of CometBFT) */
const FLAG_ABSENT = 1
const FLAG_NIL = 3

/**
 * Finds the validators that did not sign. A block has the signatures for the block before it. A missing signature has no address: its place
 * in the validator set identifies the validator, so that set is requested. Where the node has deleted the set, no absence is recorded.
 * @param blocks consecutive ones
 * @throws NodeError
 */
export async function fetchAbsences(
  node: Pick<NodeClient, 'comet'>,
  blocks: readonly BlockWithCommit[],
): Promise<readonly Absence[]> {
  /** by the hash of the set, its addresses in their order */
  const sets = new Map<string, readonly string[]>()
  const absences: Absence[] = []
  for (const [index, { height, consensus }] of blocks.entries()) {
    const signatures = consensus.block.last_commit?.signatures ?? []
    const judged = height - 1
    const missing = [...signatures.entries()].filter(
      ([, { block_id_flag: flag }]) => flag === FLAG_ABSENT || flag === FLAG_NIL,
    )
    if (missing.length === 0) continue
    const name = blocks[index - 1]?.consensus.block.header.validators_hash ?? `before ${height}`
    const set = sets.get(name) ?? (await fetchAddresses(node, judged))
    sets.set(name, set)
    for (const [place, { block_id_flag: flag }] of missing) {
      const address = set[place]
      if (address === undefined) continue
      const kind = flag === FLAG_NIL ? ABSENCE_KINDS.nil : ABSENCE_KINDS.absent
      absences.push({ validator: Buffer.from(address, 'hex'), height: judged, kind })
    }
  }
  return absences
}

async function fetchAddresses(node: Pick<NodeClient, 'comet'>, height: number): Promise<readonly string[]> {
  try {
    return (await fetchSet(node, height)).map(({ address }) => address)
  } catch (error) {
    if (error instanceof NodeRefusal) return []
    throw error
  }
}

/** Validators that CometBFT returns at once. */
const PAGE = 100

/**
 * Validators of the block at `height` with their powers, in their order.
 * @throws NodeError, NodeRefusal when the node does not have that set
 */
export async function fetchSet(node: Pick<NodeClient, 'comet'>, height: number): Promise<ValidatorSet['validators']> {
  const all: ValidatorSet['validators'][number][] = []
  for (let page = 1, total = 1; all.length < total; page++) {
    const params = { height: String(height), page: String(page), per_page: String(PAGE) }
    const [answer] = (await node.comet([{ method: 'validators', params }])) as readonly [ValidatorSet]
    all.push(...answer.validators)
    total = answer.validators.length === 0 ? 0 : Number(answer.total)
  }
  return all
}

/** Changes of power that a block decides. They take effect two blocks later. */
export function powerChanges(height: number, { validator_updates: updates }: BlockResults): readonly PowerChange[] {
  return (updates ?? []).map(({ pub_key: key, power }) => ({
    validator: consensusAddress(key.Sum.value.ed25519),
    height: height + 2,
    power: Number(power ?? 0),
  }))
}

/** @param key an ed25519 public key in base64 */
export function consensusAddress(key: string): Uint8Array {
  return createHash('sha256').update(Buffer.from(key, 'base64')).digest().subarray(0, 20)
}

/** Writes absences as runs. A run that continues one in the index extends it. */
export async function applyAbsences(writer: IndexWriter, absences: readonly Absence[]): Promise<void> {
  const runs = new Map<string, { validator: Uint8Array; first: number; last: number; kind: number }[]>()
  for (const { validator, height, kind } of absences) {
    const key = Buffer.from(validator).toString('hex')
    let own = runs.get(key)
    if (own === undefined) {
      own = await newestRun(writer, validator)
      runs.set(key, own)
    }
    const run = own.at(-1)
    if (run !== undefined && run.last === height - 1 && run.kind === kind) run.last = height
    else own.push({ validator, first: height, last: height, kind })
  }
  const rows = [...runs.values()].flat().map(({ validator, first, last, kind }): Row<'absence'> => {
    return { validator, first_height: first, last_height: last, kind }
  })
  await writer.replace('absence', rows)
}

async function newestRun({ queries }: IndexWriter, validator: Uint8Array) {
  const rows = await queries
    .selectFrom('absence')
    .selectAll()
    .where('validator', '=', validator)
    .orderBy('last_height', 'desc')
    .limit(1)
    .execute()
  return rows.map(({ first_height: first, last_height: last, kind }) => ({ validator, first, last, kind }))
}
