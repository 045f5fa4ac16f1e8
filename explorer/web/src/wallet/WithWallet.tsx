import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { accountQuery, statusQuery } from '../api.ts'
import { Amount } from '../parts/Amount.tsx'
import { Card, Note } from '../parts/Card.tsx'
import { AddressLink } from '../parts/Names.tsx'
import type { Account, Wallet } from './action.ts'
import { type WalletChain, walletChain } from './chain.ts'
import { addChain, type Choice, connect, disconnect, findChoices, resume, useWallet } from './session.ts'
import { walletProblem } from './walletProblem.ts'

/** A wallet that is ready to act, with its account. */
export interface Ready {
  readonly wallet: Wallet
  readonly account: Account & { readonly balance: string }
  readonly chain: WalletChain
}

/** Asks the reader to connect a wallet and to switch it to this chain; then shows its actions. */
export function WithWallet({ children }: { readonly children: (ready: Ready) => ReactNode }) {
  const { data: status } = useQuery(statusQuery)
  if (status === undefined) return <Note>Loading …</Note>
  const chain = walletChain(status, location.origin)
  if (chain === undefined) {
    return (
      <Note>
        Wallets need an RPC address of the network. This explorer has none configured (EXPLORER_PUBLIC_RPC_URL).
      </Note>
    )
  }
  return <OnChain chain={chain}>{children}</OnChain>
}

function OnChain({ chain, children }: { readonly chain: WalletChain; readonly children: (ready: Ready) => ReactNode }) {
  const wallet = useWallet()
  const { mutate: startAgain, ...resuming } = useMutation({ mutationFn: resume })
  // A new object with each answer of the API, although its content stays the same.
  const said = JSON.stringify(chain)
  useEffect(() => startAgain(JSON.parse(said)), [startAgain, said])
  const { data: account, error } = useQuery({
    ...accountQuery(wallet?.address ?? ''),
    enabled: wallet !== undefined,
    refetchInterval: 2_000,
  })
  if (wallet === undefined) {
    return <Choices chain={chain} resumeError={resuming.error} />
  }
  return (
    <>
      <Card>
        <div className="wallet">
          <span>
            <b>{wallet.name}</b> <AddressLink address={wallet.address} />
          </span>
          {account !== undefined && <Amount acoin={account.balance} />}
          <button type="button" onClick={() => void disconnect()}>
            Disconnect
          </button>
        </div>
        {!wallet.isOnChain && <WrongChain wallet={wallet} chain={chain} />}
        <Problem error={error} />
      </Card>
      {wallet.isOnChain && account !== undefined && children({ wallet, account, chain })}
    </>
  )
}

function WrongChain({ wallet, chain }: Pick<Ready, 'wallet' | 'chain'>) {
  const { mutate, error, isPending } = useMutation({ mutationFn: () => wallet.switchChain() })
  return (
    <>
      <p>The wallet is on another network.</p>
      <button type="button" className="main" disabled={isPending} onClick={() => mutate()}>
        Switch to {chain.name}
      </button>
      <Problem error={error} />
    </>
  )
}

/** How the accounts of a kind of wallets are spelled. */
const SPELLINGS = { native: 'coin1…', ethereum: '0x…' } as const

/** A wallet may be of both kinds: its name alone is that of two choices then. */
function nameOf({ name, kind }: Choice): string {
  return `${name} ${SPELLINGS[kind]}`
}

/** The wallets in this browser, each with buttons to connect it and to add the chain to it. */
function Choices({ chain, resumeError }: Pick<Ready, 'chain'> & { readonly resumeError: Error | null }) {
  // Wallets may announce themselves at any time.
  const { data: choices, error } = useQuery({
    queryKey: ['wallets'],
    queryFn: () => findChoices(chain),
    refetchInterval: 1_000,
  })
  const connecting = useMutation({ mutationFn: (choice: Choice) => connect(choice, chain) })
  const adding = useMutation({ mutationFn: (choice: Choice) => addChain(choice, chain) })
  /** Removes the message of the last attempt before the next one. */
  const start = (attempt: typeof connecting | typeof adding, choice: Choice): void => {
    connecting.reset()
    adding.reset()
    attempt.mutate(choice)
  }
  const isIdle = connecting.isIdle && adding.isIdle
  return (
    <Card title="Connect a wallet">
      {error !== null ? (
        <Problem error={error} />
      ) : choices === undefined ? (
        <Note>Searching for wallets …</Note>
      ) : choices.length === 0 ? (
        <Note>
          No wallet was found in this browser. Install MetaMask, Keplr or another Ethereum wallet as a browser
          extension. On a phone, open this page in the wallet's own browser.
        </Note>
      ) : (
        <ul className="wallets">
          {choices.map((choice) => (
            <li key={`${choice.kind} ${choice.id}`} className="wallet-choice">
              {choice.icon?.startsWith('data:image/') && <img src={choice.icon} alt="" width="24" height="24" />}
              <span>
                {choice.name} <span className="quiet">{SPELLINGS[choice.kind]}</span>
              </span>
              <button
                type="button"
                className="main"
                disabled={connecting.isPending}
                onClick={() => start(connecting, choice)}
              >
                Connect<span className="visually-hidden"> {nameOf(choice)}</span>
              </button>
              <button type="button" disabled={adding.isPending} onClick={() => start(adding, choice)}>
                Add {chain.name}
                <span className="visually-hidden"> to {nameOf(choice)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <Problem error={connecting.error ?? adding.error ?? (isIdle ? resumeError : null)} />
      {adding.isSuccess && <p role="status">{nameOf(adding.variables)} has added the network.</p>}
    </Card>
  )
}

/** The problem, in one line. */
export function Problem({ error }: { readonly error: unknown }) {
  return error === null || error === undefined ? null : (
    <p className="bad" role="alert">
      {walletProblem(error)}
    </p>
  )
}
