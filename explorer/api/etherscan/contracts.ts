import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { CREATION_KINDS } from '../../database/evmTables.ts'
import { type Action, actionsOf, listed } from './action.ts'
import { transactionFacts } from './transactionFacts.ts'

/** Contracts of one question, as at Etherscan. */
const MAX_CONTRACTS = 5

const getcontractcreation: Action = async (parameters, { queries }) => {
  const addresses = parameters.addresses('contractaddresses', MAX_CONTRACTS)
  const contracts = await queries.selectFrom('contract').selectAll().where('address', 'in', addresses).execute()
  const facts = await transactionFacts(
    queries,
    contracts.map(({ position }) => position),
  )
  const result = contracts.map(({ address, position, creator, kind }) => {
    const own = facts.get(position)
    const isDirect = kind === CREATION_KINDS.transaction
    return {
      contractAddress: bytesToHex(address),
      contractCreator: isDirect ? bytesToHex(creator!) : (own?.from ?? ''),
      // Of the genesis, as Etherscan writes it for contracts that no transaction created.
      txHash: own?.hash ?? 'GENESIS',
      blockNumber: own === undefined ? '0' : String(own.height),
      timestamp: own === undefined ? '0' : String(own.time),
      contractFactory: isDirect || creator === null ? '' : bytesToHex(creator),
      creationBytecode: isDirect ? (own?.input ?? '') : '',
    }
  })
  return listed(result, 'No data found')
}

/** The module `contract`. */
export const CONTRACT_ACTIONS = actionsOf({ getcontractcreation })
