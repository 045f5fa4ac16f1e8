import { cometFailure } from './table.ts'

const DEFAULT_PER_PAGE = 30
const MAX_PER_PAGE = 100

/** Where a page begins and ends among `total` (rpc/core/env.go, validatePage and validatePerPage). @throws CometError */
export function readPage(
  page: bigint | undefined,
  askedPerPage: bigint | undefined,
  total: number,
): { readonly start: number; readonly end: number } {
  const perPage = readPerPage(askedPerPage)
  const pages = Math.max(1, Math.ceil(total / perPage))
  if (page !== undefined && (page < 1n || page > pages)) {
    throw cometFailure(`page should be within [1, ${pages}] range, given ${page}`)
  }
  const start = (Number(page ?? 1n) - 1) * perPage
  return { start, end: Math.min(start + perPage, total) }
}

function readPerPage(asked: bigint | undefined): number {
  if (asked === undefined || asked < 1n) return DEFAULT_PER_PAGE
  return asked > MAX_PER_PAGE ? MAX_PER_PAGE : Number(asked)
}
