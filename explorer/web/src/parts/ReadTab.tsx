import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useMemo, useState } from 'react'
import { type Abi, type AbiFunction, type Address, type Client, createClient, http } from 'viem'
import { readContract } from 'viem/actions'
import type { Decoded } from '../abi/decode.ts'
import { statusQuery } from '../api.ts'
import { ArgumentFields, signatureOf, useArguments } from './Arguments.tsx'
import { Note } from './Card.tsx'
import { DecodedFields } from './DecodedCall.tsx'

/** Functions without arguments that are called at once; others when the reader presses a button. */
const ASKED_AT_ONCE = 30

interface Contract {
  readonly address: string
  readonly abi: Abi
}

/** The functions of a verified contract that change nothing. The browser calls them at the network's RPC address. */
export function ReadTab({ address, abi }: Contract) {
  const { data: status } = useQuery(statusQuery)
  const rpcUrl = status?.publicRpcUrl ?? undefined
  // What is asked for at once is one request.
  const client = useMemo(() => createClient({ transport: http(rpcUrl, { batch: true }) }), [rpcUrl])
  const functions = abi.filter(
    (item): item is AbiFunction =>
      item.type === 'function' && (item.stateMutability === 'view' || item.stateMutability === 'pure'),
  )
  if (status === undefined) return <Note>Loading …</Note>
  if (rpcUrl === undefined) {
    return <Note>Reading a contract needs an RPC address of the network, and this explorer has none configured.</Note>
  }
  if (functions.length === 0) return <Note>This contract has no functions to read.</Note>
  const [plain, others] = [
    functions.filter((item) => item.inputs.length === 0),
    functions.filter((item) => item.inputs.length > 0),
  ]
  return (
    <ul className="logs">
      {[...plain, ...others].map((item, index) => (
        <li key={signatureOf(item)}>
          <ReadFunction
            item={item}
            address={address}
            client={client}
            isAsked={item.inputs.length === 0 && index < ASKED_AT_ONCE}
          />
        </li>
      ))}
    </ul>
  )
}

function ReadFunction({
  item,
  address,
  client,
  isAsked,
}: {
  readonly item: AbiFunction
  readonly address: string
  readonly client: Client
  readonly isAsked: boolean
}) {
  const input = useArguments(item.inputs)
  const [asked, setAsked] = useState<readonly unknown[] | undefined>(isAsked ? [] : undefined)
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['read', address, signatureOf(item), asked === undefined ? null : asked.map(textOf)],
    queryFn: async (): Promise<Decoded> => {
      const call = { address: address as Address, abi: [item], functionName: item.name, args: asked! }
      return resultOf(item, await readContract(client, call))
    },
    enabled: asked !== undefined,
    retry: false,
  })
  const ask = (event: FormEvent): void => {
    event.preventDefault()
    if (input.values === undefined) return
    if (asked !== undefined && asked.map(textOf).join() === input.values.map(textOf).join()) void refetch()
    else setAsked(input.values)
  }
  return (
    <form className="form" onSubmit={ask}>
      <div className="function">
        <h2 className="mono">{signatureOf(item)}</h2>
        <button type="submit" disabled={input.values === undefined || isFetching}>
          {asked === undefined ? 'Query' : 'Query again'}
          <span className="visually-hidden"> {item.name}</span>
        </button>
      </div>
      <ArgumentFields inputs={item.inputs} input={input} />
      {error !== null && (
        <p className="bad" role="alert">
          {problemOf(error)}
        </p>
      )}
      {data !== undefined && error === null && (
        <div role="status">
          <DecodedFields decoded={data} />
        </div>
      )}
    </form>
  )
}

/** bigint, and lists of them, as a text that tells them apart. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, own: unknown) => (typeof own === 'bigint' ? `${own}n` : own))
}

/** viem returns one value as it is, several as a list. */
function resultOf({ outputs }: AbiFunction, result: unknown): Decoded {
  const values = outputs.length === 1 ? [result] : ((result ?? []) as readonly unknown[])
  const fields = outputs.map(({ name, type }, index) => ({
    name: name || (outputs.length === 1 ? '' : String(index)),
    type,
    value: values[index],
  }))
  return { name: outputs.length === 0 ? 'nothing' : '', fields }
}

function problemOf(error: Error): string {
  const { shortMessage } = error as { readonly shortMessage?: string }
  return shortMessage ?? error.message
}
