import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { accountQuery, statusQuery } from '../api.ts'
import { Card, Facts } from '../parts/Card.tsx'
import { AddressLink, Copyable } from '../parts/Names.tsx'
import { walletChain } from './chain.ts'
import { AmountField, TransactionForm, useAmount } from './TransactionForm.tsx'
import { type Ready, WithWallet } from './WithWallet.tsx'

/** Connects a wallet of either kind, and sends coins with it to an address in either spelling. */
export function WalletPage() {
  const { data: status } = useQuery(statusQuery)
  const chain = status === undefined ? undefined : walletChain(status, location.origin)
  return (
    <>
      <h1>Wallet</h1>
      <WithWallet>{(ready) => <SendForm {...ready} />}</WithWallet>
      {chain !== undefined && (
        <Card title="Network settings for manual setup">
          <Facts
            facts={{
              Name: chain.name,
              'RPC address': <Copyable text={chain.rpcUrl} />,
              'Chain ID': <Copyable text={String(chain.evmId)} />,
              Symbol: chain.symbol,
              Explorer: <Copyable text={chain.explorerUrl} />,
              'Chain ID for Cosmos wallets': <Copyable text={chain.id} />,
            }}
          />
        </Card>
      )}
    </>
  )
}

function SendForm({ wallet, account, chain }: Ready) {
  const id = useId()
  const [typed, setTyped] = useState('')
  const input = useAmount(account.balance)
  const text = typed.trim()
  const isAddress = /^(0x[0-9a-f]{40}|coin1[02-9ac-hj-np-z]{38})$/i.test(text)
  // The API knows both spellings, and refuses a wrong checksum.
  const { data: to, error } = useQuery({ ...accountQuery(text), enabled: isAddress })
  const problem =
    text !== '' && !isAddress
      ? 'Enter an address: 0x followed by 40 hex digits, or coin1…'
      : isAddress && error?.message
  const action =
    isAddress && to !== undefined && input.amount !== undefined
      ? ({ kind: 'send', to: { address: to.address, bech32: to.bech32 }, amount: input.amount } as const)
      : undefined
  return (
    <Card title={`Send ${chain.symbol}`}>
      <TransactionForm wallet={wallet} account={account} action={action} label="Send" onDone={() => input.setText('')}>
        <div className="field">
          <label htmlFor={id}>To</label>
          <input
            id={id}
            className="mono"
            autoComplete="off"
            spellCheck={false}
            placeholder="0x… or coin1…"
            value={typed}
            aria-invalid={Boolean(problem)}
            aria-describedby={`${id}-hint`}
            onChange={({ target }) => setTyped(target.value)}
          />
          <span id={`${id}-hint`} className={problem ? 'bad' : 'quiet'}>
            {problem ||
              (isAddress && to !== undefined && (
                <>
                  which is <AddressLink address={text.startsWith('coin1') ? to.address : to.bech32} isShort={false} />
                </>
              ))}
          </span>
        </div>
        <AmountField label={`Amount in ${chain.symbol}`} input={input} available={account.balance} />
      </TransactionForm>
    </Card>
  )
}
