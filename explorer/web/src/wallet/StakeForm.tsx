import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { parametersQuery } from '../api.ts'
import { formatShare, formatTime } from '../format.ts'
import { Card } from '../parts/Card.tsx'
import { type AccountStake, validatorQuery, validatorsQuery } from '../stakingApi.ts'
import type { Action } from './action.ts'
import { AmountField, TransactionForm, useAmount } from './TransactionForm.tsx'
import type { Ready } from './WithWallet.tsx'

/** The reader's choice for stake. */
export type Chosen =
  | { readonly kind: 'delegate' | 'redelegate' | 'undelegate' | 'claim'; readonly operator: string }
  | { readonly kind: 'claimAll' }
  | { readonly kind: 'cancel'; readonly operator: string; readonly height: number }

/** A validator as it names itself. */
export interface Named {
  readonly operator: string
  readonly moniker: string
}

interface FormProps<C extends Chosen = Chosen> extends Ready {
  readonly stake: AccountStake
  readonly chosen: C
}

/** The form for it. */
export function StakeForm({ onClose, ...props }: FormProps & { readonly onClose: () => void }) {
  const place = useRef<HTMLDivElement>(null)
  // A reader who opened it by keyboard, or far below, continues here.
  useEffect(() => {
    place.current?.scrollIntoView({ block: 'nearest' })
    place.current?.querySelector<HTMLElement>('input, select, button')?.focus()
  }, [])
  const { chosen } = props
  const { data: validator } = useQuery({
    ...validatorQuery(chosen.kind === 'claimAll' ? '' : chosen.operator),
    enabled: chosen.kind !== 'claimAll',
  })
  const name = validator?.moniker || (chosen.kind === 'claimAll' ? '' : chosen.operator)
  return (
    <div ref={place}>
      <Card
        title={titleOf(chosen, name)}
        more={
          <button type="button" onClick={onClose}>
            Close
          </button>
        }
      >
        {chosen.kind === 'claimAll' ? (
          <ClaimForm {...props} validators={props.stake.delegations.map(({ operator }) => operator)} />
        ) : chosen.kind === 'claim' ? (
          <ClaimForm {...props} validators={[chosen.operator]} />
        ) : chosen.kind === 'redelegate' ? (
          <RedelegateForm {...props} chosen={{ ...chosen, kind: 'redelegate' }} />
        ) : chosen.kind === 'cancel' ? (
          <CancelForm {...props} chosen={chosen} />
        ) : chosen.kind === 'undelegate' ? (
          <UndelegateForm {...props} chosen={{ ...chosen, kind: 'undelegate' }} />
        ) : (
          <DelegateForm {...props} chosen={{ ...chosen, kind: 'delegate' }}>
            {validator !== undefined &&
              `This validator takes a commission of ${formatShare(validator.commissionRate)} on rewards.`}
            {validator?.isJailed && <b className="bad"> It is jailed and earns nothing.</b>}
          </DelegateForm>
        )}
      </Card>
    </div>
  )
}

function titleOf(chosen: Chosen, name: string): string {
  switch (chosen.kind) {
    case 'delegate':
      return `Delegate to ${name}`
    case 'redelegate':
      return `Move stake from ${name}`
    case 'undelegate':
      return `Undelegate from ${name}`
    case 'claim':
      return `Withdraw rewards from ${name}`
    case 'claimAll':
      return 'Withdraw all rewards'
    case 'cancel':
      return `Cancel unbonding from ${name}`
  }
}

interface Operated {
  readonly kind: string
  readonly operator: string
}
type OperatorProps = Ready & { readonly stake: AccountStake; readonly chosen: Operated }

function DelegateForm({ wallet, account, chain, chosen, children }: OperatorProps & { readonly children: ReactNode }) {
  const input = useAmount(account.balance)
  const action: Action | undefined =
    input.amount === undefined ? undefined : { kind: 'delegate', validator: chosen.operator, amount: input.amount }
  return (
    <TransactionForm
      wallet={wallet}
      account={account}
      action={action}
      label="Delegate"
      onDone={() => input.setText('')}
    >
      <p className="quiet">{children}</p>
      <AmountField label={`Amount in ${chain.symbol}`} input={input} available={account.balance} />
    </TransactionForm>
  )
}

function UndelegateForm({ wallet, account, chain, stake, chosen }: OperatorProps) {
  const available = delegatedTo(stake, chosen.operator)
  const input = useAmount(available)
  const period = useUnbondingMs()
  const action: Action | undefined =
    input.amount === undefined ? undefined : { kind: 'undelegate', validator: chosen.operator, amount: input.amount }
  return (
    <TransactionForm
      wallet={wallet}
      account={account}
      action={action}
      label="Undelegate"
      onDone={() => input.setText('')}
    >
      {period !== undefined && (
        <p>
          The coins return to your account on <b>{formatTime(new Date(Date.now() + period).toISOString())}</b>. Until
          then they earn no rewards and can be slashed, and you can cancel the unbonding.
        </p>
      )}
      <AmountField label={`Amount in ${chain.symbol}`} input={input} available={available} hasAll />
    </TransactionForm>
  )
}

function RedelegateForm({ wallet, account, chain, stake, chosen }: OperatorProps) {
  const id = useId()
  const available = delegatedTo(stake, chosen.operator)
  const input = useAmount(available)
  const [to, setTo] = useState('')
  const period = useUnbondingMs()
  const { data: validators } = useQuery(validatorsQuery('active'))
  const others = validators?.items.filter(({ operator }) => operator !== chosen.operator) ?? []
  const action: Action | undefined =
    input.amount === undefined || to === ''
      ? undefined
      : { kind: 'redelegate', from: chosen.operator, to, amount: input.amount }
  return (
    <TransactionForm wallet={wallet} account={account} action={action} label="Move" onDone={() => input.setText('')}>
      <p className="quiet">
        The stake earns rewards with the new validator immediately.
        {period !== undefined &&
          ` It cannot be moved again before ${formatTime(new Date(Date.now() + period).toISOString())}.`}
      </p>
      <div className="field">
        <label htmlFor={id}>To</label>
        <select id={id} value={to} onChange={({ target }) => setTo(target.value)}>
          <option value="">Choose a validator</option>
          {others.map(({ operator, moniker, commissionRate }) => (
            <option key={operator} value={operator}>
              {moniker || operator} ({formatShare(commissionRate)})
            </option>
          ))}
        </select>
      </div>
      <AmountField label={`Amount in ${chain.symbol}`} input={input} available={available} hasAll />
    </TransactionForm>
  )
}

function CancelForm({ wallet, account, chain, stake, chosen }: FormProps<Chosen & { readonly kind: 'cancel' }>) {
  const { operator, height } = chosen
  // Several of one block are one to the chain.
  const available = stake.unbondings
    .filter((each) => each.operator === operator && each.height === height)
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n)
    .toString()
  const input = useAmount(available)
  const action: Action | undefined =
    input.amount === undefined
      ? undefined
      : { kind: 'cancelUnbonding', validator: operator, amount: input.amount, height }
  return (
    <TransactionForm
      wallet={wallet}
      account={account}
      action={action}
      label="Cancel unbonding"
      onDone={() => input.setText('')}
    >
      <p className="quiet">The cancelled amount is delegated again and earns rewards immediately.</p>
      <AmountField label={`Amount in ${chain.symbol}`} input={input} available={available} hasAll />
    </TransactionForm>
  )
}

function ClaimForm({ wallet, account, validators }: FormProps & { readonly validators: readonly string[] }) {
  const action: Action | undefined = validators.length === 0 ? undefined : { kind: 'claim', validators }
  return <TransactionForm wallet={wallet} account={account} action={action} label="Withdraw" />
}

function delegatedTo({ delegations }: AccountStake, operator: string): string {
  return delegations.find((each) => each.operator === operator)?.amount ?? '0'
}

/** How long unbonding takes, in milliseconds; undefined: not known yet. */
function useUnbondingMs(): number | undefined {
  const { data } = useQuery(parametersQuery)
  const params = data?.modules.find(({ name }) => name === 'staking')?.params
  const match = /^([0-9]+)(\.[0-9]+)?s$/.exec(String(params?.['unbonding_time']))
  return match === null ? undefined : Number(match[1]) * 1_000
}
