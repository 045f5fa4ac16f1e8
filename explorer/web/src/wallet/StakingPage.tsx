import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { formatTime } from '../format.ts'
import { Amount } from '../parts/Amount.tsx'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { ValidatorLink } from '../parts/StakeTables.tsx'
import { ValidatorPages } from '../parts/ValidatorTable.tsx'
import { type AccountStake, stakeQuery } from '../stakingApi.ts'
import { type Chosen, type Named, StakeForm } from './StakeForm.tsx'
import { useWallet } from './session.ts'
import { Problem, type Ready, WithWallet } from './WithWallet.tsx'

/** An account's stake, and all actions with it. With an operator in its address, the page starts with a delegation to it. */
export function StakingPage() {
  const { operator } = useParams({ strict: false })
  return <Staking key={operator} operator={operator} />
}

/** The same choice twice is two forms. */
interface Turn {
  readonly chosen: Chosen | undefined
  readonly number: number
}

function Staking({ operator }: { readonly operator: string | undefined }) {
  const [turn, setTurn] = useState<Turn>({
    chosen: operator === undefined ? undefined : { kind: 'delegate', operator },
    number: 0,
  })
  const choose = (chosen: Chosen | undefined): void => setTurn(({ number }) => ({ chosen, number: number + 1 }))
  const isConnected = useWallet() !== undefined
  const delegateTo = ({ operator: to, moniker }: Named) => (
    <button type="button" onClick={() => choose({ kind: 'delegate', operator: to })}>
      Delegate<span className="visually-hidden"> to {moniker || to}</span>
    </button>
  )
  return (
    <>
      <h1>Staking</h1>
      <WithWallet>{(ready) => <Stake {...ready} turn={turn} choose={choose} />}</WithWallet>
      <Card title="Validators">
        <ValidatorPages state="active" {...(isConnected && { action: delegateTo })} />
      </Card>
    </>
  )
}

interface StakeProps extends Ready {
  readonly turn: Turn
  readonly choose: (chosen: Chosen | undefined) => void
}

function Stake({ turn: { chosen, number }, choose, ...ready }: StakeProps) {
  const { data: stake, error } = useQuery({ ...stakeQuery(ready.account.address), refetchInterval: 2_000 })
  if (error !== null) return <Problem error={error} />
  if (stake === undefined) return <Note>Loading …</Note>
  return (
    <>
      {chosen !== undefined && (
        <StakeForm key={number} {...ready} stake={stake} chosen={chosen} onClose={() => choose(undefined)} />
      )}
      <Card title="Your stake">
        <Facts
          facts={{
            Delegated: <Amount acoin={stake.totalDelegated} />,
            'Not delegated': <Amount acoin={ready.account.balance} />,
            'Rewards to withdraw': <Amount acoin={stake.totalRewards} />,
          }}
        />
        {stake.delegations.length > 0 && (
          <div className="actions">
            <button type="button" className="main" onClick={() => choose({ kind: 'claimAll' })}>
              Withdraw all rewards
            </button>
          </div>
        )}
      </Card>
      <Delegations stake={stake} choose={choose} />
      <Unbondings stake={stake} choose={choose} />
    </>
  )
}

interface ListProps {
  readonly stake: AccountStake
  readonly choose: StakeProps['choose']
}

function Delegations({ stake: { delegations }, choose }: ListProps) {
  if (delegations.length === 0) return null
  return (
    <Card title="Delegations">
      <table>
        <thead>
          <tr>
            <th>Validator</th>
            <th className="number">Delegated</th>
            <th className="number">Rewards</th>
            <th>Actions</th>
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
              <td data-label="Actions">
                <DelegationActions delegation={delegation} choose={choose} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  )
}

const ACTIONS = { delegate: 'Delegate more', redelegate: 'Move', undelegate: 'Undelegate', claim: 'Withdraw' } as const

function DelegationActions({
  delegation: { operator, moniker },
  choose,
}: Pick<ListProps, 'choose'> & { readonly delegation: Named }) {
  return (
    <span className="actions">
      {Object.entries(ACTIONS).map(([kind, label]) => (
        <button key={kind} type="button" onClick={() => choose({ kind: kind as keyof typeof ACTIONS, operator })}>
          {label}
          <span className="visually-hidden"> at {moniker || operator}</span>
        </button>
      ))}
    </span>
  )
}

function Unbondings({ stake: { unbondings }, choose }: ListProps) {
  if (unbondings.length === 0) return null
  return (
    <Card title="Unbonding">
      <table>
        <thead>
          <tr>
            <th>From</th>
            <th className="number">Amount</th>
            <th>When</th>
            <th>Action</th>
          </tr>
        </thead>
        <tbody>
          {unbondings.map((unbonding) => (
            <tr key={`${unbonding.operator} ${unbonding.height} ${unbonding.completesAt}`}>
              <td data-label="From" className="named">
                <ValidatorLink validator={unbonding} />
              </td>
              <td data-label="Amount" className="number">
                <Amount acoin={unbonding.amount} />
              </td>
              <td data-label="When">
                <time dateTime={unbonding.completesAt}>{formatTime(unbonding.completesAt)}</time>
              </td>
              <td data-label="Action">
                <button
                  type="button"
                  onClick={() => choose({ kind: 'cancel', operator: unbonding.operator, height: unbonding.height })}
                >
                  Cancel<span className="visually-hidden"> unbonding from {unbonding.moniker}</span>
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  )
}
