import type { ReactNode } from 'react'
import { formatNumber, formatShare } from '../format.ts'
import { type Validator, validatorsQuery } from '../stakingApi.ts'
import { Amount } from './Amount.tsx'
import { TextPages } from './Pages.tsx'
import { Signatures } from './Signatures.tsx'
import { ValidatorLink } from './StakeTables.tsx'

interface ListProps {
  /** what stands at the end of each line */
  readonly action?: (validator: Validator) => ReactNode
}

export function ValidatorPages({ state, action }: ListProps & { readonly state: 'active' | 'inactive' }) {
  return (
    <TextPages
      query={(before: string | undefined) => validatorsQuery(state, before)}
      empty={state === 'active' ? 'The index has no validators yet.' : 'All validators are active.'}
    >
      {(validators) => <ValidatorTable validators={validators} {...(action && { action })} />}
    </TextPages>
  )
}

function ValidatorTable({ validators, action }: ListProps & { readonly validators: readonly Validator[] }) {
  const total = validators.reduce((sum, { power }) => sum + power, 0)
  return (
    <table>
      <thead>
        <tr>
          <th>Validator</th>
          <th className="number">Stake</th>
          <th className="number">Voting power</th>
          <th className="number">Commission</th>
          <th className="number">Delegators</th>
          <th>Last blocks</th>
          {action !== undefined && <th>Action</th>}
        </tr>
      </thead>
      <tbody>
        {validators.map((validator) => (
          <tr key={validator.operator}>
            <td data-label="Validator" className="named">
              <ValidatorLink validator={validator} /> <State validator={validator} />
            </td>
            <td data-label="Stake" className="number">
              <Amount acoin={validator.tokens} digits={2} />
            </td>
            <td data-label="Voting power" className="number">
              {validator.power === 0 ? '–' : `${(Math.round((validator.power / total) * 10_000) / 100).toFixed(2)} %`}
            </td>
            <td data-label="Commission" className="number">
              {formatShare(validator.commissionRate)}
            </td>
            <td data-label="Delegators" className="number">
              {formatNumber(validator.delegators)}
            </td>
            <td data-label="Last blocks">
              <Signatures letters={validator.recentBlocks} />
            </td>
            {action !== undefined && <td data-label="Action">{action(validator)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Unusual states of a validator. */
export function State({ validator: { status, isJailed, isTombstoned } }: { readonly validator: Validator }) {
  const states = [
    ...(status === 'bonded' ? [] : [status]),
    ...(isTombstoned ? ['permanently jailed: double sign'] : isJailed ? ['jailed'] : []),
  ]
  return states.length === 0 ? null : <span className={isJailed ? 'bad' : 'quiet'}>{states.join(', ')}</span>
}
