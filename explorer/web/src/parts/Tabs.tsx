import { useNavigate, useRouterState } from '@tanstack/react-router'
import { type KeyboardEvent, type ReactNode, useId } from 'react'

/** One of several views of the same thing. */
export interface Tab {
  readonly name: string
  /** shown after the name */
  readonly count?: number | undefined
  readonly view: () => ReactNode
}

/** Shows one of several views, chosen by buttons or the arrow keys. The address names it, unless it is the first: `?tab=…`. */
export function Tabs({ tabs, label }: { readonly tabs: readonly Tab[]; readonly label: string }) {
  const id = useId()
  const { search: address } = useRouterState({ select: ({ location }) => location })
  const { tab: chosen } = address as { readonly tab?: unknown }
  const navigate = useNavigate()
  // Another view has other lists, so their places leave the address.
  const choose = (name: string): void => {
    const search = name === tabs[0]!.name ? {} : { tab: name }
    void navigate({ to: '.', search: search as never, replace: true, resetScroll: false })
  }
  const at = Math.max(
    0,
    tabs.findIndex(({ name }) => name === chosen),
  )
  const move = (event: KeyboardEvent<HTMLDivElement>): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    const next = (at + step + tabs.length) % tabs.length
    choose(tabs[next]!.name)
    const buttons = event.currentTarget.querySelectorAll<HTMLButtonElement>('[role="tab"]')
    buttons[next]?.focus()
  }
  return (
    <>
      <div className="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map(({ name, count }, index) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${index}`}
            aria-selected={index === at}
            tabIndex={index === at ? 0 : -1}
            onClick={() => choose(name)}
          >
            {name}
            {count !== undefined && <span className="quiet"> {count.toLocaleString('en')}</span>}
          </button>
        ))}
      </div>
      {/* With a key of its own, as two views of the same kind are not the same list. */}
      <div key={tabs[at]!.name} role="tabpanel" aria-labelledby={`${id}-${at}`}>
        {tabs[at]!.view()}
      </div>
    </>
  )
}
