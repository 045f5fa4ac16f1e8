import { encodeFunctionData, parseAbi } from 'viem'
import { moduleAddress, toBech32 } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'

export const GOV = '0x0000000000000000000000000000000000000805'
export const GOV_ABI = parseAbi([
  'struct Coin { string denom; uint256 amount; }',
  'struct PageRequest { bytes key; uint64 offset; uint64 limit; bool countTotal; bool reverse; }',
  'function submitProposal(address proposer, bytes jsonProposal, Coin[] deposit) returns (uint64)',
  'function getProposals(uint32 proposalStatus, address voter, address depositor, PageRequest pagination) view returns (uint64)',
])

/** An object with names that no parameter has. */
export function unknownNames(count: number): string {
  return JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, 0])))
}

/** JSON of a proposal that changes one parameter. */
function parameterChange(value: string): string {
  const changes = [{ subspace: 'baseapp', key: 'block', value }]
  return JSON.stringify({
    messages: [
      {
        '@type': '/cosmos.gov.v1.MsgExecLegacyContent',
        content: { '@type': '/cosmos.params.v1beta1.ParameterChangeProposal', title: 't', description: 'd', changes },
        authority: toBech32(moduleAddress('gov')),
      },
    ],
    metadata: '',
    title: 't',
    summary: 's',
  })
}

/** Calldata that submits a proposal which changes a parameter to this value. @param value JSON */
export function submission(proposer: string, value: string): `0x${string}` {
  const jsonProposal = bytesToHex(new TextEncoder().encode(parameterChange(value)))
  return encodeFunctionData({
    abi: GOV_ABI,
    functionName: 'submitProposal',
    args: [proposer as `0x${string}`, jsonProposal, []],
  })
}
