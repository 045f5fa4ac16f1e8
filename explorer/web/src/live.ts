import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { type Block, blocksQuery, type Status, statusQuery, type Transaction, transactionsQuery } from './api.ts'

/** Newest blocks and transactions that one update has. */
export const NEWEST = 10

/** Pause before the next attempt when the answer is not a stream, because too many clients listen. */
const AGAIN_MS = 10_000

/**
 * Keeps what the home page shows up to date, by the explorer's server-sent events, while a component with it is shown, in a tab that can be
 * seen: without TLS a browser has six connections to a server for all of its tabs.
 */
export function useLive(): void {
  const client = useQueryClient()
  useEffect(() => {
    const show = ({ data }: MessageEvent<string>): void => {
      const { blocks, transactions } = JSON.parse(data) as {
        readonly blocks: readonly Block[]
        readonly transactions: readonly Transaction[]
      }
      client.setQueryData(blocksQuery(undefined, NEWEST).queryKey, { items: blocks, next: null })
      client.setQueryData(transactionsQuery('', undefined, NEWEST).queryKey, { items: transactions, next: null })
      const height = blocks[0]?.height
      if (height === undefined) return
      client.setQueryData(statusQuery.queryKey, (old: Status | undefined) =>
        old === undefined ? old : { ...old, height, nodeHeight: Math.max(height, old.nodeHeight ?? 0) },
      )
    }
    let source: EventSource | undefined
    let timer: number | undefined
    const close = (): void => {
      window.clearTimeout(timer)
      source?.close()
      source = undefined
    }
    const follow = (): void => {
      close()
      if (document.visibilityState === 'hidden') return
      const own = new EventSource('/api/v1/live')
      source = own
      own.addEventListener('newest', show)
      own.addEventListener('error', () => {
        // A connection that breaks is made again by itself.
        if (own.readyState === EventSource.CLOSED) timer = window.setTimeout(follow, AGAIN_MS)
      })
    }
    follow()
    document.addEventListener('visibilitychange', follow)
    return () => {
      document.removeEventListener('visibilitychange', follow)
      close()
    }
  }, [client])
}
