import { BECH32_OPERATOR, parseAddress } from '../../src/primitives/address.ts'
import { bytesKey, keyBytes } from '../../src/primitives/bytes.ts'
import { amountToBytes } from '../database/amount.ts'
import type { IndexWriter, Row } from '../database/indexDatabase.ts'
import type { NodeValidator } from '../node/answers.ts'
import type { NodeClient } from '../node/nodeClient.ts'
import {
  fetchAllStake,
  includesAddress,
  readDecimal,
  type Stake,
  type StakeState,
  type StakingChanges,
} from './fetchStake.ts'
import { applyAbsences, consensusAddress, fetchSet, type PowerChange } from './signatures.ts'
import type { PlacedStakingEvent } from './stakingEvents.ts'

/** Rows asked for, or deleted, in one query. Both databases take more parameters than this. */
const AT_ONCE = 500

/** Writes these changes. */
export async function applyStaking(writer: IndexWriter, changes: StakingChanges): Promise<void> {
  const { events, absences, powers, state } = changes
  if (state !== undefined) await writeState(writer, state)
  await addEvents(writer, events)
  await applyAbsences(writer, absences)
  // A validator's last change at a height counts.
  const rows = new Map<string, Row<'validator_power'>>()
  for (const { validator, height, power } of powers)
    rows.set(`${bytesKey(validator)}${height}`, { validator, height, power })
  await writer.replace('validator_power', [...rows.values()])
}

async function writeState(writer: IndexWriter, state: StakeState): Promise<void> {
  const known = await writer.queries.selectFrom('validator').selectAll().execute()
  const delegators = new Map(known.map(({ operator, delegators: count }) => [bytesKey(operator), count]))
  await writeDelegations(writer, state, delegators)
  const rows = state.validators.map((validator) => validatorRow(validator, state.tombstoned, delegators))
  await writer.replace('validator', rows)
  const there = new Set(rows.map(({ operator }) => bytesKey(operator)))
  for (const { operator, status } of known) {
    if (there.has(bytesKey(operator)) || status === 'removed') continue
    const nothing = amountToBytes(0n)
    await writer.queries
      .updateTable('validator')
      .set({ status: 'removed', tokens: nothing, shares: nothing, delegators: 0 })
      .where('operator', '=', operator)
      .execute()
  }
}

/** @param delegators number of delegators by validator; it is updated */
async function writeDelegations(
  writer: IndexWriter,
  { delegations, hasAllDelegations }: StakeState,
  delegators: Map<string, number>,
): Promise<void> {
  if (hasAllDelegations) {
    await writer.queries.deleteFrom('delegation').execute()
    delegators.clear()
  }
  const known = hasAllDelegations ? new Set<string>() : await knownPairs(writer, delegations)
  const rows: Row<'delegation'>[] = []
  for (const { delegator, validator, shares } of delegations) {
    const key = bytesKey(validator)
    const wasThere = known.has(bytesKey(delegator) + key)
    const change = Number(shares !== null) - Number(wasThere)
    if (change !== 0) delegators.set(key, (delegators.get(key) ?? 0) + change)
    if (shares !== null) rows.push({ delegator, validator, shares: amountToBytes(shares) })
    else if (wasThere) {
      await writer.queries
        .deleteFrom('delegation')
        .where('delegator', '=', delegator)
        .where('validator', '=', validator)
        .execute()
    }
  }
  await writer.replace('delegation', rows)
}

async function knownPairs({ queries }: IndexWriter, delegations: readonly Stake[]): Promise<Set<string>> {
  const keys = [...new Set(delegations.map(({ delegator }) => bytesKey(delegator)))]
  const pairs = new Set<string>()
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    const rows = await queries
      .selectFrom('delegation')
      .select(['delegator', 'validator'])
      .where('delegator', 'in', keys.slice(at, at + AT_ONCE).map(keyBytes))
      .execute()
    for (const { delegator, validator } of rows) pairs.add(bytesKey(delegator) + bytesKey(validator))
  }
  return pairs
}

const STATUS_PREFIX = 'BOND_STATUS_'

function validatorRow(
  validator: NodeValidator,
  tombstoned: readonly Uint8Array[],
  delegators: ReadonlyMap<string, number>,
): Row<'validator'> {
  const operator = parseAddress(validator.operator_address, BECH32_OPERATOR)
  const consensus = consensusAddress(validator.consensus_pubkey.key)
  const { description, commission, min_self_delegation: minSelfDelegation } = validator
  return {
    operator,
    consensus_address: consensus,
    tokens: amountToBytes(BigInt(validator.tokens)),
    shares: amountToBytes(readDecimal(validator.delegator_shares)),
    delegators: delegators.get(bytesKey(operator)) ?? 0,
    status: validator.status.slice(STATUS_PREFIX.length).toLowerCase(),
    is_jailed: validator.jailed ? 1 : 0,
    is_tombstoned: includesAddress(tombstoned, consensus) ? 1 : 0,
    unbonding_time: Date.parse(validator.unbonding_time),
    moniker_key: Buffer.from(description.moniker.toLowerCase()),
    // PostgreSQL's text cannot hold the character 0, which a description may have: JSON writes it as an escape.
    detail: JSON.stringify({ description, commission, minSelfDelegation } satisfies ValidatorDetail),
  }
}

/** Content of a validator's column `detail`. */
export interface ValidatorDetail extends Pick<NodeValidator, 'description' | 'commission'> {
  /** acoin */
  readonly minSelfDelegation: string
}

/** Events name a validator by its consensus key or by its operator; the index has the operators of all validators, removed ones too. */
async function addEvents(writer: IndexWriter, events: readonly PlacedStakingEvent[]): Promise<void> {
  if (events.length === 0) return
  const validators = await writer.queries.selectFrom('validator').select(['operator', 'consensus_address']).execute()
  const operators = new Set(validators.map(({ operator }) => bytesKey(operator)))
  const byConsensusKey = new Map(validators.map(({ operator, consensus_address: key }) => [bytesKey(key), operator]))
  const rows: Row<'staking_event'>[] = []
  const counts = new Map<number, number>()
  for (const event of events) {
    const { position, kind, isByConsensusKey, destination, delegator, amount, reason } = event
    // When an operator acts by authz, another account signs, and no event names the validator.
    if (event.isBySigner && !operators.has(bytesKey(event.validator))) continue
    const validator = isByConsensusKey
      ? (byConsensusKey.get(bytesKey(event.validator)) ?? event.validator)
      : event.validator
    const ordinal = counts.get(position) ?? 0
    counts.set(position, ordinal + 1)
    rows.push({
      position,
      ordinal,
      kind,
      validator,
      destination: destination ?? null,
      delegator: delegator ?? null,
      amount: amount === undefined ? null : amountToBytes(amount),
      reason: reason ?? null,
    })
  }
  await writer.insert('staking_event', rows)
}

/**
 * Writes the stake and the powers at the start of an index.
 * @param first the first block of the index
 * @param opening the height of its opening balances
 */
export async function writeOpeningStake(
  writer: IndexWriter,
  node: Pick<NodeClient, 'comet' | 'rest'>,
  first: number,
  opening: number,
): Promise<void> {
  // The state before block 1 cannot be queried. The changes of block 1 are written again with its events.
  const state = await fetchAllStake(node, Math.max(opening, first))
  const powers = (await fetchSet(node, first)).map(({ address, voting_power: power }): PowerChange => {
    return { validator: Buffer.from(address, 'hex'), height: first, power: Number(power) }
  })
  await applyStaking(writer, { events: [], absences: [], powers, state })
}
