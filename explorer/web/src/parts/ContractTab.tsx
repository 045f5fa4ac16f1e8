import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ContractDetail, contractQuery } from '../api.ts'
import { formatNumber } from '../format.ts'
import { Facts, Note } from './Card.tsx'
import { Data } from './Data.tsx'
import { ContractPages, WAYS } from './EvmTables.tsx'
import { AddressLink, BlockLink, TransactionLink } from './Names.tsx'

/** A contract's creator, its state, its code, and the contracts that it created. */
export function ContractTab({ address, isVerified }: { readonly address: string; readonly isVerified: boolean }) {
  const { data: contract, error } = useQuery(contractQuery(address))
  if (error !== null) return <Note>{error.message}</Note>
  if (contract === undefined) return <Note>Loading …</Note>
  const { label, creator, way, created, selfDestruct, isDeleted, code, codeSize, delegatesTo } = contract
  return (
    <>
      <Facts
        facts={{
          Name: label,
          Creator: creator === null ? undefined : <AddressLink address={creator} isShort={false} />,
          Created:
            way === null ? 'unknown: the index does not have the creation' : <Creation way={way} created={created} />,
          'Self-destruct':
            selfDestruct === null ? undefined : (
              <>
                in <TransactionLink hash={selfDestruct.transaction} />, block <BlockLink height={selfDestruct.height} />
                : {isDeleted ? 'the contract was deleted' : 'the contract sent its coins away'}
              </>
            ),
          'Delegates to': delegatesTo === null ? undefined : <AddressLink address={delegatesTo} isShort={false} />,
          Sources:
            isVerified || way === 'precompile' || codeSize === 0 || delegatesTo !== null ? undefined : (
              <>
                unverified.{' '}
                <Link to="/verify/$address" params={{ address }}>
                  Verify the contract
                </Link>{' '}
                if you have them.
              </>
            ),
          Code: codeSize === 0 ? 'none' : `${formatNumber(codeSize)} bytes`,
        }}
      />
      {codeSize > 0 && <Data>{code}</Data>}
      {way !== 'precompile' && (
        <section className="part">
          <h2>Created contracts</h2>
          <ContractPages path={`contracts?creator=${address}`} empty="None." />
        </section>
      )}
    </>
  )
}

function Creation({
  way,
  created,
}: {
  readonly way: NonNullable<ContractDetail['way']>
  readonly created: ContractDetail['created']
}) {
  if (created === null) return way === 'precompile' ? 'built into the chain (precompile)' : 'in the genesis'
  return (
    <>
      by {WAYS[way]} in <TransactionLink hash={created.transaction} />, block <BlockLink height={created.height} />
    </>
  )
}
