import { queryOptions } from '@tanstack/react-query'
import type { Faucet, GrantView } from '../../faucet/shapes.ts'
import { get } from './api.ts'

/* The faucet, as in api.ts. */

export type Grant = GrantView
export type { Faucet }

/** Why there are no coins; the message is the explorer's. */
export class FaucetRefusal extends Error {
  /** when there may be coins again; null: not known */
  readonly retryAt: string | null

  constructor(message: string, retryAt: string | null) {
    super(message)
    this.retryAt = retryAt
  }
}

export const faucetQuery = queryOptions({
  queryKey: ['faucet'],
  queryFn: ({ signal }) => get<Faucet>('faucet', signal),
  refetchInterval: 10_000,
})

export function grantQuery(id: number) {
  return queryOptions({
    queryKey: ['grant', id],
    queryFn: ({ signal }) => get<Grant>(`faucet/grants/${id}`, signal),
    refetchInterval: ({ state: { data } }) => (data?.state === 'paid' || data?.state === 'failed' ? false : 500),
  })
}

/**
 * Asks for coins.
 * @throws FaucetRefusal
 */
export async function askFaucet(address: string): Promise<Grant> {
  const response = await fetch('/api/v1/faucet', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ address }),
  })
  const answer = (await response.json()) as Grant & { readonly error?: string; readonly retryAt?: string | null }
  if (response.ok) return answer
  const text = answer.error ?? `status ${response.status}`
  throw new FaucetRefusal(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`, answer.retryAt ?? null)
}
