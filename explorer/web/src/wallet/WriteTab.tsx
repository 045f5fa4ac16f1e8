import { useId, useState } from 'react'
import { type Abi, type AbiFunction, encodeFunctionData, type Hex } from 'viem'
import { ArgumentFields, signatureOf, useArguments } from '../parts/Arguments.tsx'
import { Note } from '../parts/Card.tsx'
import type { Account } from './action.ts'
import { AmountField, TransactionForm, useAmount } from './TransactionForm.tsx'
import { type Ready, WithWallet } from './WithWallet.tsx'

interface Contract {
  readonly account: Account
  readonly abi: Abi
}

/** The functions of a verified contract that change something, called with a wallet. */
export function WriteTab({ account: contract, abi }: Contract) {
  const id = useId()
  const functions = abi.filter(
    (item): item is AbiFunction =>
      item.type === 'function' && item.stateMutability !== 'view' && item.stateMutability !== 'pure',
  )
  const [chosen, choose] = useState(0)
  const item = functions[chosen]
  if (item === undefined) return <Note>This contract has no functions that change state.</Note>
  return (
    <WithWallet>
      {(ready) => (
        <>
          <div className="field part">
            <label htmlFor={id}>Function</label>
            <select id={id} className="mono" value={chosen} onChange={({ target }) => choose(Number(target.value))}>
              {functions.map((own, index) => (
                <option key={signatureOf(own)} value={index}>
                  {signatureOf(own)}
                </option>
              ))}
            </select>
          </div>
          <WriteForm key={signatureOf(item)} item={item} contract={contract} {...ready} />
        </>
      )}
    </WithWallet>
  )
}

function WriteForm({
  item,
  contract,
  wallet,
  account,
  chain,
}: Ready & { readonly item: AbiFunction; readonly contract: Account }) {
  const input = useArguments(item.inputs)
  const amount = useAmount(account.balance)
  const isPayable = item.stateMutability === 'payable'
  const { data, problem } = encode(item, input.values)
  const value = amount.text === '' ? 0n : amount.amount
  const action =
    data === undefined || value === undefined
      ? undefined
      : ({ kind: 'call', to: contract, data, amount: value } as const)
  return (
    <div className="part">
      <TransactionForm wallet={wallet} account={account} action={action} label="Send">
        <ArgumentFields inputs={item.inputs} input={input} />
        {isPayable && (
          <AmountField label={`${chain.symbol} to send with the call`} input={amount} available={account.balance} />
        )}
        {problem !== undefined && <p className="bad">{problem}</p>}
      </TransactionForm>
    </div>
  )
}

/** viem's errors for values in the right form: a number that is too large, a wrong checksum. */
function encode(
  item: AbiFunction,
  args: readonly unknown[] | undefined,
): { readonly data?: Hex; readonly problem?: string } {
  if (args === undefined) return {}
  try {
    return { data: encodeFunctionData({ abi: [item], functionName: item.name, args }) }
  } catch (error) {
    const { shortMessage } = error as { readonly shortMessage?: string }
    return { problem: shortMessage ?? (error as Error).message }
  }
}
