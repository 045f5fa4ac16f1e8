import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { askFaucet, type Faucet, FaucetRefusal, faucetQuery, type Grant, grantQuery } from '../faucetApi.ts'
import { formatTime } from '../format.ts'
import { Amount } from '../parts/Amount.tsx'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { AddressLink, BlockLink, TransactionLink } from '../parts/Names.tsx'

const PROBLEMS = {
  off: 'This explorer has no faucet.',
  otherChain: 'There are test coins on testnet and devnet alone: this chain’s coins are worth something.',
  empty: 'The faucet has too few coins at present. Try again later, or send its account some.',
} as const

/** Test coins for an address. */
export function FaucetPage() {
  const { data: faucet, error } = useQuery(faucetQuery)
  const [granted, setGranted] = useState<number>()
  if (error !== null) return <Note>{error.message}</Note>
  if (faucet === undefined) return <Note>Loading …</Note>
  return (
    <>
      <h1>Faucet</h1>
      <Card>
        {faucet.problem === 'none' ? (
          <>
            <Form amount={faucet.amount} onGranted={setGranted} />
            <Limits limits={faucet.limits} />
          </>
        ) : (
          <Note>{PROBLEMS[faucet.problem]}</Note>
        )}
      </Card>
      {granted !== undefined && <Progress id={granted} />}
      {faucet.address !== null && faucet.balance !== null && (
        <Card>
          <Facts
            facts={{
              'Account that pays': <AddressLink address={faucet.address} isShort={false} />,
              'It has': <Amount acoin={faucet.balance} />,
            }}
          />
        </Card>
      )}
    </>
  )
}

/** What is left for whoever reads this. */
function Limits({ limits }: { readonly limits: Faucet['limits'] }) {
  if (limits === null) return null
  const { client, all } = limits
  if (all.retryAt !== null) {
    return <p>The faucet has given what it gives in 24 hours. You can ask again at {formatTime(all.retryAt)}.</p>
  }
  if (client.retryAt !== null) {
    return <p>You have had coins for enough addresses. You can ask again at {formatTime(client.retryAt)}.</p>
  }
  const left = Math.min(client.left, all.left)
  return <p>You can ask for {left === 1 ? 'one more address' : `${left} more addresses`} in these 24 hours.</p>
}

function Form({ amount, onGranted }: { readonly amount: string; readonly onGranted: (id: number) => void }) {
  const [address, setAddress] = useState('')
  const asking = useMutation({ mutationFn: askFaucet, onSuccess: ({ id }) => onGranted(id) })
  const ask = (event: FormEvent): void => {
    event.preventDefault()
    if (address.trim() !== '') asking.mutate(address.trim())
  }
  return (
    <form className="form" onSubmit={ask}>
      <p>
        An address gets <Amount acoin={amount} /> in 24 hours, to try things out. They are worth nothing.
      </p>
      <div className="field">
        <label htmlFor="faucet-address">Address</label>
        <input
          id="faucet-address"
          value={address}
          onChange={(event) => setAddress(event.target.value)}
          placeholder="0x… or coin1…"
          autoComplete="off"
          spellCheck={false}
        />
      </div>
      <div className="actions">
        <button type="submit" disabled={asking.isPending}>
          Get test coins
        </button>
      </div>
      {asking.error !== null && (
        <p role="alert" className="bad">
          {asking.error.message}
          {asking.error instanceof FaucetRefusal && asking.error.retryAt !== null
            ? ` Again from ${formatTime(asking.error.retryAt)} on.`
            : ''}
        </p>
      )}
    </form>
  )
}

const STATES: Readonly<Record<Grant['state'], string>> = {
  waiting: 'Waits for its turn …',
  sent: 'Sent: it is in one of the next blocks …',
  paid: 'Paid',
  failed: 'Failed',
}

/** How far a grant is. */
function Progress({ id }: { readonly id: number }) {
  const { data: grant } = useQuery(grantQuery(id))
  if (grant === undefined) return null
  return (
    <Card>
      <div aria-live="polite">
        <Facts
          facts={{
            State: grant.problem === null ? STATES[grant.state] : `${STATES[grant.state]}: ${grant.problem}`,
            For: <AddressLink address={grant.address} isShort={false} />,
            Amount: <Amount acoin={grant.amount} />,
            Transaction:
              grant.transaction === null ? undefined : <TransactionLink hash={grant.transaction} isShort={false} />,
            Block: grant.height === null ? undefined : <BlockLink height={grant.height} />,
          }}
        />
      </div>
    </Card>
  )
}
