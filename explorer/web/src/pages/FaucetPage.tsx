import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { askFaucet, type Faucet, FaucetRefusal, faucetQuery, type Grant, grantQuery } from '../faucetApi.ts'
import { formatTime } from '../format.ts'
import { Amount } from '../parts/Amount.tsx'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { AddressLink, BlockLink, TransactionLink } from '../parts/Names.tsx'

const PROBLEMS = {
  off: 'This explorer has no faucet.',
  otherChain: 'The faucet gives coins on testnets and devnets only.',
  empty: 'The faucet has too few coins at the moment. Try again later, or send coins to its account.',
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
              'Faucet account': <AddressLink address={faucet.address} isShort={false} />,
              Balance: <Amount acoin={faucet.balance} />,
            }}
          />
        </Card>
      )}
    </>
  )
}

/** The rest of the reader's limits. */
function Limits({ limits }: { readonly limits: Faucet['limits'] }) {
  if (limits === null) return null
  const { client, all } = limits
  if (all.retryAt !== null) {
    return <p>The faucet has reached its limit for 24 hours. You can ask again at {formatTime(all.retryAt)}.</p>
  }
  if (client.retryAt !== null) {
    return <p>You have reached your limit of addresses. You can ask again at {formatTime(client.retryAt)}.</p>
  }
  const left = Math.min(client.left, all.left)
  return <p>You can ask for {left === 1 ? 'one more address' : `${left} more addresses`} within 24 hours.</p>
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
        Each address can get <Amount acoin={amount} /> every 24 hours, for testing. Test coins have no value.
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
            ? ` Try again after ${formatTime(asking.error.retryAt)}.`
            : ''}
        </p>
      )}
    </form>
  )
}

const STATES: Readonly<Record<Grant['state'], string>> = {
  waiting: 'Waiting in the queue …',
  sent: 'Sent, waiting for a block …',
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
