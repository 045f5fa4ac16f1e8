import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { type Block, blocksQuery, type Status, statusQuery, type Transaction, transactionsQuery } from './api.ts'

/** Newest blocks and transactions that one update has. */
export const NEWEST = 10

/** Keeps what the home page shows up to date, by the explorer's server-sent events, while a component with it is shown. */
export function useLive(): void {
  const client = useQueryClient()
  useEffect(() => {
    const source = new EventSource('/api/v1/live')
    source.addEventListener('newest', ({ data }: MessageEvent<string>) => {
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
    })
    return () => source.close()
  }, [client])
}
