import { expect, it } from 'vitest'
import { migrate } from '../../../../explorer/database/migrate.ts'
import { openSqlite } from '../../../../explorer/database/sqlite.ts'
import { applyGovernance, governanceChanges } from '../../../../explorer/governance/ingest.ts'
import type { Event, NodeProposal } from '../../../../explorer/node/answers.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'

const event = (type: string, attributes: Readonly<Record<string, string>>): Event => ({
  type,
  attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })),
})
const proposer = toBech32(new Uint8Array(20).fill(1))
const proposal = (id: number, status: string): NodeProposal => ({
  id: String(id),
  messages: [],
  status,
  final_tally_result: null,
  submit_time: '2026-01-01T00:00:00Z',
  deposit_end_time: '2026-01-03T00:00:00Z',
  voting_start_time: null,
  voting_end_time: null,
  total_deposit: [{ denom: 'acoin', amount: '5' }],
  metadata: '',
  title: `title ${id}\0`,
  summary: '',
  proposer,
  expedited: false,
  failed_reason: '',
})

it('ends proposals as the events at the end of blocks say, also those that the node has forgotten', async () => {
  const database = openSqlite(':memory:')
  await migrate(database)
  const apply = (position: number, events: readonly Event[], known: (id: number) => NodeProposal | null) =>
    database.write((writer) =>
      applyGovernance(
        writer,
        governanceChanges(events).map((change) => ({ position, change, proposal: known(change.id) })),
      ),
    )
  const submitted = [1, 2, 3].map((id) => event('submit_proposal', { proposal_id: String(id) }))
  await apply(1, submitted, (id) => proposal(id, 'PROPOSAL_STATUS_DEPOSIT_PERIOD'))
  await apply(2, [event('submit_proposal', { proposal_id: '4' })], () => null)
  const rejected = { proposal_id: '1', proposal_result: 'proposal_rejected', proposal_log: 'rejected' }
  await apply(3, [event('active_proposal', rejected)], (id) => proposal(id, 'PROPOSAL_STATUS_REJECTED'))
  const dropped = event('inactive_proposal', { proposal_id: '2', proposal_result: 'proposal_dropped' })
  await apply(4, [dropped, event('cancel_proposal', { sender: proposer, proposal_id: '3' })], () => null)
  const rows = await database.queries.selectFrom('proposal').selectAll().orderBy('id').execute()
  await database.close()
  expect(rows.map(({ id, status, position }) => [id, status, position])).toEqual([
    [1, 'rejected', 1],
    [2, 'expired', 1],
    [3, 'cancelled', 1],
    [4, 'unknown', 2],
  ])
  // What was known of them stays, and no character 0 is in the database.
  expect(rows.map(({ content }) => JSON.parse(content).title)).toEqual(['title 1\0', 'title 2\0', 'title 3\0', ''])
  expect(rows.some(({ content }) => content.includes('\0'))).toBe(false)
})
