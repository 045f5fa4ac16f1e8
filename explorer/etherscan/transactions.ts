import { TX_KINDS } from '../transactions/tables.ts'
import { type Action, actionsOf, type EtherscanContext, ok } from './action.ts'

async function findEvm(queries: EtherscanContext['queries'], hash: Uint8Array) {
  return queries
    .selectFrom('tx')
    .select(['position', 'is_ok', 'detail'])
    .where('hash', '=', hash)
    .where('kind', '=', TX_KINDS.evm)
    .executeTakeFirst()
}

/** Whether it failed, and why; one that the index does not have has not failed. */
const getstatus: Action = async (parameters, { queries }) => {
  const row = await findEvm(queries, parameters.hash('txhash'))
  const isError = row !== undefined && row.is_ok === 0
  if (!isError) return ok({ isError: '0', errDescription: '' })
  const { log } = JSON.parse(row.detail) as { readonly log?: string }
  return ok({ isError: '1', errDescription: log ?? 'execution failed' })
}

/** The status of its receipt: empty without a receipt. */
const gettxreceiptstatus: Action = async (parameters, { queries }) => {
  const row = await findEvm(queries, parameters.hash('txhash'))
  return ok({ status: row === undefined ? '' : String(row.is_ok) })
}

/** The module `transaction`. */
export const TRANSACTION_ACTIONS = actionsOf({ getstatus, gettxreceiptstatus })
