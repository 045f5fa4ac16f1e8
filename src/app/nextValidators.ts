import { createRankedSet, incrementPriorities, updateValidators } from '../chain/consensus/validatorSet.ts'
import type { ValidatorUpdate } from '../consensus/application.ts'
import type { HeadValidators } from './chainHead.ts'

/** Validators before block 1 from those of the genesis (CometBFT state/state.go, MakeGenesisState). */
export function genesisHeadValidators(
  validators: readonly { readonly publicKey: Uint8Array; readonly power: bigint }[],
): HeadValidators {
  const first = createRankedSet(validators)
  return { last: first, next: first, afterNext: incrementPriorities(first, 1) }
}

/**
 * Validators after one more block, whose execution gave `updates`: they act two blocks later, since the block after it has named
 * its successor's validators already (CometBFT state/execution.go, updateState).
 * @throws TypeError when the updates name a validator twice, remove an unknown one, or leave none or too much power
 */
export function advanceValidators(
  { next, afterNext }: HeadValidators,
  updates: readonly ValidatorUpdate[],
): HeadValidators {
  const updated = updates.length === 0 ? afterNext : updateValidators(afterNext, updates)
  return { last: next, next: afterNext, afterNext: incrementPriorities(updated, 1) }
}
