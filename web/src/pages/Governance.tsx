import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { depositsQuery, type Proposal, type ProposalDetail, proposalQuery, proposalsQuery, votesQuery } from '../api.ts'
import { formatTime, OPTION_NAMES, type VoteOption } from '../format.ts'
import { Amount } from '../parts/Amount.tsx'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { AddressLink, BlockLink, TransactionLink } from '../parts/Names.tsx'
import { Pages } from '../parts/Pages.tsx'
import { Age } from '../parts/Time.tsx'

/** Proposals, the newest first. */
export function Proposals() {
  return (
    <>
      <div className="title">
        <h1>Governance</h1>
        <Link to="/propose">Submit a proposal</Link>
      </div>
      <Card>
        <Pages query={proposalsQuery} empty="Nobody has proposed anything yet.">
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
                        {proposal.title || 'without a title'}
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

/** Texts of a proposal are whoever's: they are shown as text, links in them too. */
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
          Proposal {proposal.id}: {proposal.title || 'without a title'}
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
            'Why it failed': proposal.failedReason || undefined,
            Metadata: proposal.metadata || undefined,
          }}
        />
        <p className="prose">{proposal.summary}</p>
      </Card>
      <Tally tally={proposal.tally} />
      {(proposal.status === 'voting' || proposal.status === 'deposit') && <TakePart proposal={proposal} />}
      <Card title={proposal.messages.length === 1 ? 'Message' : `${proposal.messages.length} messages`}>
        {proposal.messages.length === 0 ? (
          <Note>It changes nothing by itself.</Note>
        ) : (
          <pre className="data">{JSON.stringify(proposal.messages, undefined, 2)}</pre>
        )}
      </Card>
      <Card title="Votes">
        <Votes id={id} />
      </Card>
      <Card title="Deposits">
        <Deposits id={id} />
      </Card>
    </>
  )
}

const OPTION_CLASSES = { yes: 'second', no: 'first', noWithVeto: 'fourth', abstain: 'third' } as const

/** What needs a wallet is loaded when somebody wants to act. */
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

/** Ten thousandths of the whole. */
const PARTS = 10_000n

/** How the votes stand: a bar for each option, with its share of all that voted. */
function Tally({ tally }: Pick<ProposalDetail, 'tally'>) {
  if (tally === null) return null
  const options = Object.keys(OPTION_NAMES) as VoteOption[]
  const total = options.reduce((sum, option) => sum + BigInt(tally[option]), 0n)
  const share = (option: VoteOption): number =>
    total === 0n ? 0 : Number((BigInt(tally[option]) * PARTS) / total) / 100
  return (
    <Card title="How the votes stand">
      <table className="chart">
        <thead>
          <tr>
            <th>Option</th>
            <th>Share</th>
            <th className="number">Stake</th>
          </tr>
        </thead>
        <tbody>
          {options.map((option) => (
            <tr key={option}>
              <td data-label="Option">{OPTION_NAMES[option]}</td>
              <td data-label="Share">
                <svg className="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                  <rect className="track" width="100" height="10" />
                  <rect className={OPTION_CLASSES[option]} width={share(option)} height="10" />
                </svg>{' '}
                {share(option)} %
              </td>
              <td data-label="Stake" className="number">
                <Amount acoin={tally[option]} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  )
}

function Votes({ id }: { readonly id: string }) {
  return (
    <Pages key={id} query={(before) => votesQuery(id, before)} empty="Nobody has voted yet.">
      {(votes) => (
        <table>
          <thead>
            <tr>
              <th>Voter</th>
              <th>Vote</th>
              <th>Where</th>
            </tr>
          </thead>
          <tbody>
            {votes.map(({ voter, options, height, transaction, isReplaced }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: votes have no name but their order, which does not change
              <tr key={index}>
                <td data-label="Voter">
                  <AddressLink address={voter} />
                </td>
                <td data-label="Vote">
                  {options
                    .map(({ option, weight }) =>
                      options.length === 1 ? OPTION_NAMES[option] : `${OPTION_NAMES[option]} ${Number(weight)}`,
                    )
                    .join(', ')}
                  {isReplaced ? ' · replaced by a later one' : ''}
                </td>
                <Where height={height} transaction={transaction} />
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Pages>
  )
}

function Deposits({ id }: { readonly id: string }) {
  return (
    <Pages key={id} query={(before) => depositsQuery(id, before)} empty="Nobody has deposited anything.">
      {(deposits) => (
        <table>
          <thead>
            <tr>
              <th>Depositor</th>
              <th className="number">Amount</th>
              <th>Where</th>
            </tr>
          </thead>
          <tbody>
            {deposits.map(({ depositor, amount, height, transaction }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: deposits have no name but their order, which does not change
              <tr key={index}>
                <td data-label="Depositor">
                  <AddressLink address={depositor} />
                </td>
                <td data-label="Amount" className="number">
                  <Amount acoin={amount} />
                </td>
                <Where height={height} transaction={transaction} />
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Pages>
  )
}

function Where({ height, transaction }: { readonly height: number; readonly transaction: string | null }) {
  return (
    <td data-label="Where">
      {transaction === null ? <BlockLink height={height} /> : <TransactionLink hash={transaction} />}
    </td>
  )
}
