import { queryOptions, useQuery } from '@tanstack/react-query'
import type { Abi } from 'viem'
import type { z } from 'zod'
import type { ContractSource, compilerList, contractInterface } from '../../verify/shapes.ts'
import { type Account, get, type Status } from './api.ts'

/* Verified contracts, and verifying one: over the API that clients of Sourcify use, too. */

export type { ContractSource }

/** Only of a verified contract: of others the answer is an error. */
export function sourceQuery(address: string) {
  return queryOptions({
    queryKey: ['source', address],
    queryFn: ({ signal }) => get<ContractSource>(`contracts/${address}/source`, signal),
    staleTime: 60_000,
  })
}

function interfaceQuery(address: string) {
  return queryOptions({
    queryKey: ['interface', address],
    queryFn: ({ signal }) => get<z.infer<typeof contractInterface>>(`contracts/${address}/interface`, signal),
    staleTime: 60_000,
  })
}

/** Name and ABI of a contract; undefined: it is not verified, or not known yet. */
export function useInterface(address: string | null): { readonly name: string; readonly abi: Abi } | undefined {
  const { data } = useQuery({ ...interfaceQuery(address ?? ''), enabled: address !== null })
  // solc made it, as the explorer has seen.
  return data?.name === null || data === undefined ? undefined : { name: data.name, abi: data.abi as unknown as Abi }
}

export const compilersQuery = queryOptions({
  queryKey: ['compilers'],
  queryFn: ({ signal }) => get<z.infer<typeof compilerList>>('compilers', signal),
})

/** A request for a verification. */
export interface Submission {
  /** in either spelling */
  readonly address: string
  /** standard JSON */
  readonly input: unknown
  readonly version: string
  /** `path:name`; empty: whichever it is */
  readonly contract: string
}

/** The state of a verification. */
export interface Verification {
  readonly isJobCompleted: boolean
  readonly error?: { readonly message: string }
  readonly contract: {
    readonly address: string
    readonly match: string | null
    readonly runtimeMatch: string | null
    readonly creationMatch: string | null
  }
}

/** @returns the ID by which {@link verificationQuery} asks for the result */
export async function submitSources({ address, input, version, contract }: Submission): Promise<string> {
  const { signal } = new AbortController()
  // This API knows one spelling.
  const account = await get<Account>(`addresses/${encodeURIComponent(address)}`, signal)
  const { evmChainId } = await get<Status>('status', signal)
  const own = contract === '' ? {} : { contractIdentifier: contract }
  const response = await fetch(`/v2/verify/${evmChainId}/${account.address}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ stdJsonInput: input, compilerVersion: version, ...own }),
  })
  const answer = (await response.json()) as { readonly verificationId?: string; readonly message?: string }
  if (answer.verificationId === undefined) throw new Error(answer.message ?? `status ${response.status}`)
  return answer.verificationId
}

export function verificationQuery(id: string) {
  return queryOptions({
    queryKey: ['verification', id],
    queryFn: async ({ signal }): Promise<Verification> => {
      const response = await fetch(`/v2/verify/${id}`, { signal })
      if (!response.ok) throw new Error(`status ${response.status}`)
      return (await response.json()) as Verification
    },
    refetchInterval: ({ state }) => (state.data?.isJobCompleted === true ? false : 500),
  })
}
