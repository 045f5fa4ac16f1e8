import { decodeLog } from '../abi/decode.ts'
import { type Log, placeListQuery } from '../api.ts'
import { formatNumber } from '../format.ts'
import { useInterface } from '../verificationApi.ts'
import { Data } from './Data.tsx'
import { DecodedFields } from './DecodedCall.tsx'
import { AddressLink, BlockLink, TransactionLink } from './Names.tsx'
import { TextPages } from './Pages.tsx'

/** Logs in the order in which they are given. */
export function LogList({
  logs,
  isOfTransaction = false,
}: {
  readonly logs: readonly Log[]
  readonly isOfTransaction?: boolean
}) {
  return (
    <ol className="logs">
      {logs.map((log) => (
        <li key={`${log.height} ${log.index}`}>
          <p>
            <span className="tag evm">{log.index}</span>{' '}
            <AddressLink address={log.address} isShort={isOfTransaction === false} />{' '}
            {!isOfTransaction && (
              <>
                in <TransactionLink hash={log.transaction} />, block <BlockLink height={log.height} />
              </>
            )}
          </p>
          <LogContent log={log} />
        </li>
      ))}
    </ol>
  )
}

function LogContent({ log }: { readonly log: Log }) {
  const { topics, data, dataSize } = log
  const isWhole = data.length / 2 - 1 === dataSize
  const own = useInterface(log.address)
  const decoded = isWhole ? decodeLog(log, own?.abi) : undefined
  if (decoded !== undefined) return <DecodedFields decoded={decoded} />
  return (
    <Data>
      {[...topics.map((topic, index) => `topic ${index}  ${topic}`), `data     ${data}${isWhole ? '' : '…'}`].join(
        '\n',
      )}
      {isWhole ? '' : `\n${formatNumber(dataSize)} bytes in all`}
    </Data>
  )
}

export function LogPages({ address }: { readonly address: string }) {
  const path = `addresses/${address}/logs`
  return (
    <TextPages
      key={path}
      query={(before: string | undefined) => placeListQuery<Log>(path, before)}
      empty="No logs yet."
    >
      {(logs) => <LogList logs={logs} />}
    </TextPages>
  )
}
