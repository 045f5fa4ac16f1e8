import { bytesKey, keyBytes } from '../../src/primitives/bytes.ts'
import { amountToBytes } from '../database/amount.ts'
import type { IndexWriter, Row } from '../database/indexDatabase.ts'
import type { Tables } from '../database/schema.ts'
import type { Event, NodeProposal } from '../node/answers.ts'
import { accountOf, coinsOf } from '../node/readAnswers.ts'

/** A change of governance that an event reports. Precompiles cause the same events as messages. */
export type GovernanceChange =
  | { readonly kind: 'vote'; readonly id: number; readonly voter: Uint8Array; readonly options: string }
  | { readonly kind: 'deposit'; readonly id: number; readonly depositor: Uint8Array; readonly amount: bigint }
  | { readonly kind: 'submitted' | 'changed' | 'expired' | 'cancelled'; readonly id: number }

/** A change with its place, and the changed proposal after the block; null: the node has deleted it. */
export interface PlacedChange {
  readonly position: number
  readonly change: GovernanceChange
  readonly proposal: NodeProposal | null
}

/** The events of x/gov (x/gov/types/events.go). */
export function governanceChanges(events: readonly Event[]): readonly GovernanceChange[] {
  return events.flatMap(({ type, attributes }): readonly GovernanceChange[] => {
    const value = (name: string): string => attributes.find(({ key }) => key === name)?.value ?? ''
    const started = value('voting_period_start')
    const text = value('proposal_id') || started
    if (text === '') return []
    const id = Number(text)
    if (started !== '') return [{ kind: 'changed', id }]
    switch (type) {
      case 'submit_proposal':
        return [{ kind: 'submitted', id }]
      case 'proposal_deposit':
        return [
          { kind: 'deposit', id, depositor: accountOf(value('depositor')), amount: coinsOf(value('amount')) },
          { kind: 'changed', id },
        ]
      case 'proposal_vote':
        return [{ kind: 'vote', id, voter: accountOf(value('voter')), options: value('option') }]
      case 'active_proposal':
        return [{ kind: 'changed', id }]
      case 'inactive_proposal':
        return [{ kind: 'expired', id }]
      case 'cancel_proposal':
        return [{ kind: 'cancelled', id }]
    }
    return []
  })
}

/** Voters asked for in one query. */
const VOTERS_AT_ONCE = 500

/** Writes these changes. A vote is added to the votes before it, and counts instead of the same voter's previous one. */
export async function applyGovernance(writer: IndexWriter, changes: readonly PlacedChange[]): Promise<void> {
  if (changes.length === 0) return
  await addDeposits(writer, changes)
  await addVotes(writer, changes)
  await changeProposals(writer, changes)
}

async function addDeposits(writer: IndexWriter, changes: readonly PlacedChange[]): Promise<void> {
  const rows: Row<'proposal_deposit'>[] = []
  let number = await lastNumber(writer, 'proposal_deposit')
  for (const { position, change } of changes) {
    if (change.kind !== 'deposit') continue
    number++
    rows.push({
      number,
      proposal_id: change.id,
      depositor: change.depositor,
      amount: amountToBytes(change.amount),
      position,
    })
  }
  await writer.insert('proposal_deposit', rows)
}

async function addVotes(writer: IndexWriter, changes: readonly PlacedChange[]): Promise<void> {
  const rows: Tables['proposal_vote'][] = []
  /** the newest vote in `rows`, by proposal and voter */
  const newest = new Map<number, Map<string, Tables['proposal_vote']>>()
  let number = await lastNumber(writer, 'proposal_vote')
  for (const { position, change } of changes) {
    if (change.kind !== 'vote') continue
    number++
    const { id, voter, options } = change
    const row: Tables['proposal_vote'] = { number, proposal_id: id, voter, options, position, is_newest: 1 }
    rows.push(row)
    const voters = newest.get(change.id) ?? new Map<string, Tables['proposal_vote']>()
    newest.set(change.id, voters)
    const before = voters.get(bytesKey(change.voter))
    if (before !== undefined) before.is_newest = 0
    voters.set(bytesKey(change.voter), row)
  }
  for (const [id, voters] of newest) {
    const keys = [...voters.keys()]
    for (let at = 0; at < keys.length; at += VOTERS_AT_ONCE) {
      await writer.queries
        .updateTable('proposal_vote')
        .set({ is_newest: 0 })
        .where('proposal_id', '=', id)
        .where('is_newest', '=', 1)
        .where('voter', 'in', keys.slice(at, at + VOTERS_AT_ONCE).map(keyBytes))
        .execute()
    }
  }
  await writer.insert('proposal_vote', rows)
}

async function lastNumber({ queries }: IndexWriter, table: 'proposal_vote' | 'proposal_deposit'): Promise<number> {
  const { last } = await queries
    .selectFrom(table)
    .select(({ fn }) => fn.max('number').as('last'))
    .executeTakeFirstOrThrow()
  return Number(last ?? 0)
}

/** Statuses of proposals that the node has, without the prefix that all have. */
const STATUS_PREFIX = 'PROPOSAL_STATUS_'

async function changeProposals(writer: IndexWriter, changes: readonly PlacedChange[]): Promise<void> {
  for (const { position, change, proposal } of changes) {
    if (change.kind === 'vote' || change.kind === 'deposit') continue
    const { id, kind } = change
    const old = await writer.queries.selectFrom('proposal').selectAll().where('id', '=', id).executeTakeFirst()
    const submitted = kind === 'submitted' ? position : (old?.position ?? 0)
    if (proposal === null) {
      const status = kind === 'expired' || kind === 'cancelled' ? kind : (old?.status ?? 'unknown')
      if (old !== undefined) await writer.queries.updateTable('proposal').set({ status }).where('id', '=', id).execute()
      else {
        const none = JSON.stringify({
          title: '',
          summary: '',
          metadata: '',
          messages: [],
          failedReason: '',
          tally: null,
        })
        await writer.insert('proposal', [
          {
            id,
            position: submitted,
            proposer: null,
            status,
            is_expedited: 0,
            submit_time: null,
            deposit_end_time: null,
            voting_start_time: null,
            voting_end_time: null,
            total_deposit: amountToBytes(0n),
            content: none,
          },
        ])
      }
      continue
    }
    const { title, summary, metadata, messages, failed_reason: failedReason, final_tally_result: tally } = proposal
    const total = proposal.total_deposit.reduce((sum, { amount, denom }) => sum + coinsOf(`${amount}${denom}`), 0n)
    await writer.replace('proposal', [
      {
        id,
        position: submitted,
        proposer: proposal.proposer === '' ? null : accountOf(proposal.proposer),
        status: proposal.status
          .slice(STATUS_PREFIX.length)
          .replace(/_PERIOD$/, '')
          .toLowerCase(),
        is_expedited: proposal.expedited ? 1 : 0,
        submit_time: timeOf(proposal.submit_time),
        deposit_end_time: timeOf(proposal.deposit_end_time),
        voting_start_time: timeOf(proposal.voting_start_time),
        voting_end_time: timeOf(proposal.voting_end_time),
        total_deposit: amountToBytes(total),
        // PostgreSQL's text cannot hold the character 0, which a title may have: JSON writes it as an escape.
        content: JSON.stringify({ title, summary, metadata, messages, failedReason, tally }),
      },
    ])
  }
}

function timeOf(text: string | null): number | null {
  return text === null ? null : Date.parse(text)
}
