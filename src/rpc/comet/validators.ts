import { readHeight, type WithChain } from './chain.ts'
import { validatorJson } from './json/validatorJson.ts'
import { int, int64 } from './params.ts'
import { type CometMethod, cometFailure, defineCometMethod } from './table.ts'

const DEFAULT_PER_PAGE = 30
const MAX_PER_PAGE = 100

/**
 * `validators` (rpc/core/consensus.go), with their priorities in round 0 of the height. By default those of the block that is being
 * decided; of the newest one while the node catches up.
 */
export function createValidatorsMethod(withChain: WithChain, isCatchingUp: () => boolean): CometMethod {
  return defineCometMethod({
    name: 'validators',
    params: [
      { name: 'height', type: int64 },
      { name: 'page', type: int },
      { name: 'per_page', type: int },
    ],
    run: (asked, askedPage, askedPerPage) =>
      withChain((chain) => {
        const height = readHeight(asked, latestHeight(chain.headHeight, isCatchingUp()), 1)
        const set = chain.validatorsAt(height)
        if (set === undefined) throw cometFailure(`could not find validator set for height #${height}`)
        const total = set.validators.length
        const perPage = readPerPage(askedPerPage)
        const start = (readPage(askedPage, perPage, total) - 1) * perPage
        const page = set.validators.slice(start, start + perPage).map((_, index) => validatorJson(set, start + index))
        return {
          block_height: String(height),
          validators: page,
          count: String(page.length),
          total: String(total),
        }
      }),
  })
}

/** Of the newest height whose validators and parameters matter to clients. */
export function latestHeight(headHeight: number, isCatchingUp: boolean): number {
  return isCatchingUp ? headHeight : headHeight + 1
}

function readPerPage(asked: bigint | undefined): number {
  if (asked === undefined || asked < 1n) return DEFAULT_PER_PAGE
  return asked > MAX_PER_PAGE ? MAX_PER_PAGE : Number(asked)
}

function readPage(asked: bigint | undefined, perPage: number, total: number): number {
  if (asked === undefined) return 1
  const pages = Math.max(1, Math.ceil(total / perPage))
  if (asked < 1n || asked > pages) throw cometFailure(`page should be within [1, ${pages}] range, given ${asked}`)
  return Number(asked)
}
