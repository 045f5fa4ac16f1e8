import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { accountVotesQuery, type ProposalDetail } from '../api.ts'
import { OPTION_NAMES, type VoteOption } from '../format.ts'
import { Card } from '../parts/Card.tsx'
import type { Action } from './action.ts'
import { AmountField, TransactionForm, useAmount } from './TransactionForm.tsx'
import { type Ready, WithWallet } from './WithWallet.tsx'

const OPTIONS = Object.keys(OPTION_NAMES) as readonly VoteOption[]

/** Votes and deposits for a proposal, with a wallet. */
export function ProposalActions({ proposal }: { readonly proposal: ProposalDetail }) {
  return (
    <WithWallet>
      {(ready) => (
        <>
          {proposal.status === 'voting' && <VoteForm {...ready} proposal={proposal.id} />}
          <DepositForm {...ready} proposal={proposal.id} />
        </>
      )}
    </WithWallet>
  )
}

interface Of {
  readonly proposal: number
}

function VoteForm({ wallet, account, proposal }: Ready & Of) {
  const name = useId()
  const [chosen, setChosen] = useState<VoteOption>()
  const [isDivided, setDivided] = useState(false)
  const [percents, setPercents] = useState<Readonly<Record<VoteOption, string>>>({
    yes: '',
    no: '',
    noWithVeto: '',
    abstain: '',
  })
  const { data: votes } = useQuery(accountVotesQuery(account.address))
  const former = votes?.items.find((vote) => vote.proposal === proposal && !vote.isReplaced)
  const action: Action | undefined = isDivided
    ? dividedVote(proposal, percents)
    : chosen && { kind: 'vote', proposal, options: [{ option: chosen, weight: '1' }] }
  return (
    <Card title="Vote">
      <TransactionForm wallet={wallet} account={account} action={action} label="Vote">
        <p className="quiet">
          Your vote counts with the stake that you have delegated when voting ends.
          {former !== undefined &&
            ` You have voted ${former.options.map(({ option }) => OPTION_NAMES[option]).join(', ')}. A new vote replaces it.`}
        </p>
        {isDivided ? (
          <fieldset>
            <legend>Percent of your stake</legend>
            {OPTIONS.map((option) => (
              <label key={option}>
                <input
                  className="percent"
                  inputMode="numeric"
                  value={percents[option]}
                  onChange={({ target }) => setPercents({ ...percents, [option]: target.value })}
                />{' '}
                {OPTION_NAMES[option]}
              </label>
            ))}
            {action === undefined && <span className="quiet">Enter whole numbers that add up to 100.</span>}
          </fieldset>
        ) : (
          <fieldset>
            <legend>Your vote</legend>
            {OPTIONS.map((option) => (
              <label key={option}>
                <input type="radio" name={name} checked={chosen === option} onChange={() => setChosen(option)} />{' '}
                {OPTION_NAMES[option]}
              </label>
            ))}
          </fieldset>
        )}
        <label>
          <input type="checkbox" checked={isDivided} onChange={({ target }) => setDivided(target.checked)} /> Split the
          vote
        </label>
      </TransactionForm>
    </Card>
  )
}

/** undefined while the percents do not sum to 100. */
function dividedVote(proposal: number, percents: Readonly<Record<VoteOption, string>>): Action | undefined {
  const parts = OPTIONS.map((option) => ({ option, text: percents[option].trim() })).filter(({ text }) => text !== '')
  if (parts.some(({ text }) => !/^[0-9]{1,3}$/.test(text))) return undefined
  const weighed = parts
    .map(({ option, text }) => ({ option, percent: Number(text) }))
    .filter((part) => part.percent > 0)
  if (weighed.reduce((sum, { percent }) => sum + percent, 0) !== 100) return undefined
  const options = weighed.map(({ option, percent }) => ({ option, weight: (percent / 100).toFixed(2) }))
  return { kind: 'vote', proposal, options }
}

function DepositForm({ wallet, account, chain, proposal }: Ready & Of) {
  const input = useAmount(account.balance)
  const action = input.amount === undefined ? undefined : ({ kind: 'deposit', proposal, amount: input.amount } as const)
  return (
    <Card title="Deposit">
      <TransactionForm
        wallet={wallet}
        account={account}
        action={action}
        label="Deposit"
        onDone={() => input.setText('')}
      >
        <p className="quiet">Deposits are returned when voting ends, unless the proposal is vetoed.</p>
        <AmountField label={`Amount in ${chain.symbol}`} input={input} available={account.balance} />
      </TransactionForm>
    </Card>
  )
}
