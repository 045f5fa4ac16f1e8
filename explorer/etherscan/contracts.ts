import { bytesToHex } from '../../src/primitives/bytes.ts'
import { delegateOf } from '../contracts/delegateOf.ts'
import { CREATION_KINDS } from '../contracts/tables.ts'
import { type Action, actionsOf, type EtherscanContext, listed, listedInPart } from './action.ts'
import { transactionFacts } from './transactionFacts.ts'

/** Contracts of one question, as at Etherscan. */
const MAX_CONTRACTS = 5

const getcontractcreation: Action = async (parameters, context) => {
  const { queries } = context
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
  const known = new Set(result.map(({ contractAddress }) => contractAddress))
  const others = addresses.map(bytesToHex).filter((address) => !known.has(address))
  const unknown = await contractsAmong(context, others)
  if (unknown.length === 0) return listed(result, 'No data found')
  return listedInPart(result, `The creation of ${unknown.join(', ')} is not known: the index has no trace of it`)
}

/** Returns those of these accounts that have code; their creation is not in the index. */
async function contractsAmong(
  { node, takeTurn }: Pick<EtherscanContext, 'node' | 'takeTurn'>,
  addresses: readonly string[],
): Promise<readonly string[]> {
  if (addresses.length === 0) return []
  const calls = addresses.map((address) => ({ method: 'eth_getCode', params: [address, 'latest'] }))
  const bytecodes = (await takeTurn(() => node.ethereum(calls))) as readonly string[]
  return addresses.filter((_, index) => bytecodes[index] !== '0x' && delegateOf(bytecodes[index]!) === undefined)
}

/** The module `contract`. */
export const CONTRACT_ACTIONS = actionsOf({ getcontractcreation })
