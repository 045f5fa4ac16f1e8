import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { type Proposal, type ProposalDetail, proposalQuery, proposalsQuery } from '../api.ts'
import { formatTime } from '../format.ts'
import { Amount } from '../parts/Amount.tsx'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { Data } from '../parts/Data.tsx'
import { AddressLink } from '../parts/Names.tsx'
import { Pages } from '../parts/Pages.tsx'
import { Tally } from '../parts/Tally.tsx'
import { Age } from '../parts/Time.tsx'
import { DepositPages, VotePages } from '../parts/VoteTables.tsx'

/** Proposals, the newest first. */
export function Proposals() {
  return (
    <>
      <div className="title">
        <h1>Governance</h1>
        <Link to="/propose">Submit a proposal</Link>
      </div>
      <Card>
        <Pages query={proposalsQuery} empty="No proposals yet.">
          {(proposals) => (
            <table>
              <thead>
                <tr>
                  <th>Number</th>
                  <th>Title</th>
                  <th>Status</th>
                  <th>Submitted</th>
                  <th className="number">Deposit</th>
                </tr>
              </thead>
              <tbody>
                {proposals.map((proposal) => (
                  <tr key={proposal.id}>
                    <td data-label="Number">{proposal.id}</td>
                    <td data-label="Title" className="text">
                      <Link to="/proposal/$id" params={{ id: String(proposal.id) }}>
                        {proposal.title || '(no title)'}
                      </Link>
                    </td>
                    <td data-label="Status">
                      <Status proposal={proposal} />
                    </td>
                    <td data-label="Submitted">
                      {proposal.submitTime === null ? '–' : <Age time={proposal.submitTime} />}
                    </td>
                    <td data-label="Deposit" className="number">
                      <Amount acoin={proposal.totalDeposit} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </Pages>
      </Card>
    </>
  )
}

function Status({ proposal: { status, isExpedited } }: { readonly proposal: Proposal }) {
  return (
    <span className={status === 'passed' ? 'tag native' : 'tag'}>
      {status}
      {isExpedited ? ' · expedited' : ''}
    </span>
  )
}

/** Anyone may write a proposal, so its texts and their links are shown as plain text. */
export function ProposalPage() {
  const { id } = useParams({ from: '/proposal/$id' })
  const { data: proposal, error } = useQuery(proposalQuery(id))
  if (error !== null) return <Note>{error.message}</Note>
  if (proposal === undefined) return <Note>Loading …</Note>
  const time = (text: string | null) => (text === null ? undefined : formatTime(text))
  return (
    <>
      <div className="title">
        <h1>
          Proposal {proposal.id}: {proposal.title || '(no title)'}
        </h1>
        <Status proposal={proposal} />
      </div>
      <Card>
        <Facts
          facts={{
            Proposer:
              proposal.proposer === null ? undefined : <AddressLink address={proposal.proposer} isShort={false} />,
            Deposit: <Amount acoin={proposal.totalDeposit} />,
            Submitted: time(proposal.submitTime),
            'Deposit until': time(proposal.depositEndTime),
            'Voting from': time(proposal.votingStartTime),
            'Voting until': time(proposal.votingEndTime),
            'Reason for failure': proposal.failedReason || undefined,
            Metadata: proposal.metadata || undefined,
          }}
        />
        <p className="prose">{proposal.summary}</p>
      </Card>
      <Tally tally={proposal.tally} rules={proposal.rules} />
      {(proposal.status === 'voting' || proposal.status === 'deposit') && <TakePart proposal={proposal} />}
      <Card title={proposal.messages.length === 1 ? 'Message' : `${proposal.messages.length} messages`}>
        {proposal.messages.length === 0 ? (
          <Note>This proposal has no messages: it changes nothing by itself.</Note>
        ) : (
          <Data>{JSON.stringify(proposal.messages, undefined, 2)}</Data>
        )}
      </Card>
      <Card title="Votes">
        <VotePages of={`proposals/${encodeURIComponent(id)}`} />
      </Card>
      <Card title="Deposits">
        <DepositPages id={id} />
      </Card>
    </>
  )
}

/** Parts that need a wallet are loaded when the reader wants to act. */
const ProposalActions = lazy(async () => {
  const { ProposalActions: component } = await import('../wallet/ProposalActions.tsx')
  return { default: component }
})

function TakePart({ proposal }: { readonly proposal: ProposalDetail }) {
  const [isActing, setActing] = useState(false)
  return isActing ? (
    <Suspense fallback={<Note>Loading …</Note>}>
      <ProposalActions proposal={proposal} />
    </Suspense>
  ) : (
    <div className="actions">
      <button type="button" className="main" onClick={() => setActing(true)}>
        {proposal.status === 'voting' ? 'Vote or deposit' : 'Deposit'}
      </button>
    </div>
  )
}
