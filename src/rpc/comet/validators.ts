import { readHeight, type WithChain } from './chain.ts'
import { validatorJson } from './json/validatorJson.ts'
import { readPage } from './paging.ts'
import { int, int64 } from './params.ts'
import { type CometMethod, cometFailure, defineCometMethod } from './table.ts'

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
        const { start, end } = readPage(askedPage, askedPerPage, total)
        const page = set.validators.slice(start, end).map((_, index) => validatorJson(set, start + index))
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
