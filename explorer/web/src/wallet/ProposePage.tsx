import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { type Parameters, parametersQuery } from '../api.ts'
import { Amount } from '../parts/Amount.tsx'
import { Card } from '../parts/Card.tsx'
import { PARAMETER_MESSAGES, parameterChange, readMessages } from './parameterChange.ts'
import { AmountField, TransactionForm, useAmount } from './TransactionForm.tsx'
import { type Ready, WithWallet } from './WithWallet.tsx'

/** Submits a proposal: a text, a change of parameters, or any messages. */
export function ProposePage() {
  return (
    <>
      <h1>Submit a proposal</h1>
      <WithWallet>{(ready) => <ProposeForm {...ready} />}</WithWallet>
    </>
  )
}

/** Effect of a proposal: none, or its messages as they are written. */
const TEXT = 'text'
const OWN = 'own'

function ProposeForm({ wallet, account, chain }: Ready) {
  const id = useId()
  const [title, setTitle] = useState('')
  const [summary, setSummary] = useState('')
  const [metadata, setMetadata] = useState('')
  const [isExpedited, setExpedited] = useState(false)
  const [does, setDoes] = useState(TEXT)
  const [json, setJson] = useState('')
  const input = useAmount(account.balance)
  const { data: parameters } = useQuery(parametersQuery)
  const messages = does === TEXT ? [] : readMessages(json)
  const isComplete =
    title.trim() !== '' &&
    summary.trim() !== '' &&
    typeof messages !== 'string' &&
    (messages.length > 0 || metadata.trim() !== '')
  const action =
    isComplete && input.amount !== undefined
      ? ({
          kind: 'propose',
          proposal: { title, summary, metadata, isExpedited, messages },
          deposit: input.amount,
        } as const)
      : undefined
  const choose = (chosen: string): void => {
    setDoes(chosen)
    const params = parameters?.modules.find(({ name }) => name === chosen)?.params
    if (params !== undefined) setJson(JSON.stringify([parameterChange(chosen, params)], undefined, 2))
  }
  const needed = minimumDeposit(parameters, isExpedited)
  return (
    <Card>
      <TransactionForm
        wallet={wallet}
        account={account}
        action={action}
        label="Submit"
        onDone={() => input.setText('')}
      >
        <div className="field">
          <label htmlFor={`${id}-title`}>Title</label>
          <input id={`${id}-title`} maxLength={255} value={title} onChange={({ target }) => setTitle(target.value)} />
        </div>
        <div className="field">
          <label htmlFor={`${id}-summary`}>Summary</label>
          <textarea
            id={`${id}-summary`}
            rows={6}
            maxLength={10_000}
            value={summary}
            onChange={({ target }) => setSummary(target.value)}
          />
        </div>
        <div className="field">
          <label htmlFor={`${id}-does`}>Effect when it passes</label>
          <select id={`${id}-does`} value={does} onChange={({ target }) => choose(target.value)}>
            <option value={TEXT}>text only, changes nothing</option>
            {Object.keys(PARAMETER_MESSAGES).map((module) => (
              <option key={module} value={module}>
                change parameters of {module}
              </option>
            ))}
            <option value={OWN}>other messages</option>
          </select>
        </div>
        {does !== TEXT && (
          <div className="field">
            <label htmlFor={`${id}-json`}>Messages, as JSON{does !== OWN && ': edit the values to change'}</label>
            <textarea
              id={`${id}-json`}
              className="mono"
              rows={16}
              spellCheck={false}
              value={json}
              aria-invalid={typeof messages === 'string'}
              aria-describedby={`${id}-problem`}
              onChange={({ target }) => setJson(target.value)}
            />
            <span id={`${id}-problem`} className="bad">
              {typeof messages === 'string' && messages}
            </span>
          </div>
        )}
        <div className="field">
          <label htmlFor={`${id}-metadata`}>
            Link to more information{does === TEXT && ' (required for a text proposal)'}
          </label>
          <input
            id={`${id}-metadata`}
            maxLength={255}
            value={metadata}
            onChange={({ target }) => setMetadata(target.value)}
          />
        </div>
        <label>
          <input type="checkbox" checked={isExpedited} onChange={({ target }) => setExpedited(target.checked)} />{' '}
          Expedited: a shorter voting period and a higher threshold
        </label>
        <AmountField label={`Deposit in ${chain.symbol}`} input={input} available={account.balance} />
        {needed !== undefined && (
          <p className="quiet">
            Voting starts when deposits reach <Amount acoin={needed} />. Any account can deposit.
          </p>
        )}
      </TransactionForm>
    </Card>
  )
}

interface GovParams {
  readonly min_deposit?: readonly { readonly amount: string }[]
  readonly expedited_min_deposit?: readonly { readonly amount: string }[]
}

function minimumDeposit(parameters: Parameters | undefined, isExpedited: boolean): string | undefined {
  const gov = parameters?.modules.find(({ name }) => name === 'gov')?.params as GovParams | undefined
  return (isExpedited ? gov?.expedited_min_deposit : gov?.min_deposit)?.[0]?.amount
}
