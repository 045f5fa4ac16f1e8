import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { tokenListQuery } from '../api.ts'
import { formatTime } from '../format.ts'
import { type AccountStake, type StakingEvent, stakeQuery } from '../stakingApi.ts'
import { Amount } from './Amount.tsx'
import { Facts, Note } from './Card.tsx'
import { AddressLink, BlockLink, TransactionLink } from './Names.tsx'
import { TextPages } from './Pages.tsx'

/* Stake of an account, and staking events. */

export function ValidatorLink({
  validator,
}: {
  readonly validator: { readonly operator: string; readonly moniker: string }
}) {
  return (
    <Link to="/validator/$id" params={{ id: validator.operator }} title={validator.operator}>
      {validator.moniker === '' ? validator.operator : validator.moniker}
    </Link>
  )
}

/** An account's delegations, its unbonding and redelegation entries, and its events. */
export function StakeTab({ address }: { readonly address: string }) {
  const { data: stake, error } = useQuery(stakeQuery(address))
  if (error !== null) return <Note>{error.message}</Note>
  if (stake === undefined) return <Note>Loading …</Note>
  return (
    <>
      <Facts
        facts={{
          Delegated: <Amount acoin={stake.totalDelegated} />,
          'Rewards to withdraw': <Amount acoin={stake.totalRewards} />,
          'Rewards go to':
            stake.withdrawAddress === address ? undefined : <AddressLink address={stake.withdrawAddress} />,
        }}
      />
      <Delegations stake={stake} />
      <PendingEntries stake={stake} />
      <h3>Events</h3>
      <StakingEvents path={`addresses/${address}/stake-events`} />
    </>
  )
}

function Delegations({ stake: { delegations } }: { readonly stake: AccountStake }) {
  if (delegations.length === 0) return null
  return (
    <table>
      <thead>
        <tr>
          <th>Validator</th>
          <th className="number">Delegated</th>
          <th className="number">Rewards</th>
        </tr>
      </thead>
      <tbody>
        {delegations.map((delegation) => (
          <tr key={delegation.operator}>
            <td data-label="Validator" className="named">
              <ValidatorLink validator={delegation} />
            </td>
            <td data-label="Delegated" className="number">
              <Amount acoin={delegation.amount} />
            </td>
            <td data-label="Rewards" className="number">
              <Amount acoin={delegation.rewards} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function PendingEntries({ stake: { unbondings, redelegations } }: { readonly stake: AccountStake }) {
  if (unbondings.length + redelegations.length === 0) return null
  return (
    <table>
      <thead>
        <tr>
          <th>Kind</th>
          <th>From</th>
          <th>To</th>
          <th className="number">Amount</th>
          <th>Complete</th>
        </tr>
      </thead>
      <tbody>
        {unbondings.map((unbonding) => (
          <tr key={`${unbonding.operator} ${unbonding.height} ${unbonding.completesAt}`}>
            <td data-label="Kind">unbonding</td>
            <td data-label="From" className="named">
              <ValidatorLink validator={unbonding} />
            </td>
            <td data-label="To">this account</td>
            <td data-label="Amount" className="number">
              <Amount acoin={unbonding.amount} />
            </td>
            <td data-label="Complete">
              <time dateTime={unbonding.completesAt}>{formatTime(unbonding.completesAt)}</time>
            </td>
          </tr>
        ))}
        {redelegations.map((redelegation) => (
          <tr
            key={`${redelegation.from.operator} ${redelegation.to.operator} ${redelegation.height} ${redelegation.completesAt}`}
          >
            <td data-label="Kind">redelegation</td>
            <td data-label="From" className="named">
              <ValidatorLink validator={redelegation.from} />
            </td>
            <td data-label="To" className="named">
              <ValidatorLink validator={redelegation.to} />
            </td>
            <td data-label="Amount" className="number">
              <Amount acoin={redelegation.amount} />
            </td>
            <td data-label="Complete">
              <time dateTime={redelegation.completesAt}>{formatTime(redelegation.completesAt)}</time>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const KINDS: Readonly<Record<StakingEvent['kind'], string>> = {
  create: 'created',
  edit: 'description or commission changed',
  delegate: 'delegated',
  undelegate: 'undelegated',
  redelegate: 'redelegated',
  cancelUndelegation: 'undelegation cancelled',
  completeUndelegation: 'undelegation complete',
  completeRedelegation: 'redelegation complete',
  withdrawRewards: 'rewards withdrawn',
  withdrawCommission: 'commission withdrawn',
  slash: 'slashed',
  jail: 'jailed',
  unjail: 'released from jail',
}

/** Staking events of an account or of a validator: the other side is shown. */
export function StakingEvents({
  path,
  of,
}: {
  readonly path: string
  /** the validator's operator; undefined: of an account */
  readonly of?: string
}) {
  const other = of === undefined ? 'Validator' : 'Delegator'
  return (
    <TextPages
      query={(before: string | undefined) => tokenListQuery<StakingEvent>(path, before)}
      empty="No staking events yet."
    >
      {(events) => (
        <table>
          <thead>
            <tr>
              <th>What</th>
              <th>{other}</th>
              <th className="number">Amount</th>
              <th>Where</th>
            </tr>
          </thead>
          <tbody>
            {events.map((event, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: events have no name but their order, which does not change
              <tr key={index}>
                <td data-label="What">
                  <span className={event.kind === 'slash' || event.kind === 'jail' ? 'bad' : undefined}>
                    {KINDS[event.kind]}
                    {event.reason === null ? '' : ` (${event.reason.replaceAll('_', ' ')})`}
                  </span>
                </td>
                <td data-label={other} className="named">
                  <Other event={event} of={of} />
                </td>
                <td data-label="Amount" className="number">
                  {event.amount === null ? '–' : <Amount acoin={event.amount} />}
                </td>
                <td data-label="Where">
                  {event.transaction === null ? (
                    <BlockLink height={event.height} />
                  ) : (
                    <TransactionLink hash={event.transaction} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TextPages>
  )
}

/** The other side of an event; for a redelegation also its source or destination. */
function Other({ event, of }: { readonly event: StakingEvent; readonly of: string | undefined }) {
  const { validator, to, delegator } = event
  if (of === undefined) {
    return (
      <>
        <ValidatorLink validator={validator} />
        {to !== null && (
          <>
            {' to '}
            <ValidatorLink validator={to} />
          </>
        )}
      </>
    )
  }
  return (
    <>
      {delegator === null ? '–' : <AddressLink address={delegator} />}
      {to !== null && (
        <>
          {to.operator === of ? ', from ' : ', to '}
          <ValidatorLink validator={to.operator === of ? validator : to} />
        </>
      )}
    </>
  )
}
