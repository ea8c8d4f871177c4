import * as Radix from '@radix-ui/react-dialog';
import { useRef, type ReactNode } from 'react';

import { CurlMenu } from './menu';
import { Button } from './parts';

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  note?: ReactNode;
  children: ReactNode;
  width?: string;
  /** Nothing in it asks the server for anything. */
  quiet?: boolean;
}

const stops = 'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary, [tabindex="0"]';

/** Gives the focus to the first that can have it: what is not shown cannot. */
function focusFirst(list: Iterable<HTMLElement>) {
  for (const one of list) {
    if (one.tabIndex < 0) continue;
    one.focus({ preventScroll: true });
    if (document.activeElement === one) return true;
  }
  return false;
}

export function Dialog({ open, onClose, title, note, children, width = 'max-w-[480px]', quiet }: DialogProps) {
  const body = useRef<HTMLDivElement>(null);
  // Without a field that takes the focus by itself, it is for what the dialog is about, and not for the buttons beside its title.
  const focus = (e: Event) => {
    e.preventDefault();
    if (!focusFirst(body.current?.querySelectorAll<HTMLElement>(stops) ?? [])) (e.currentTarget as HTMLElement).focus();
  };
  return (
    <Radix.Root open={open} onOpenChange={(is) => !is && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Radix.Content data-scrolls onOpenAutoFocus={focus} className={`fixed top-[12dvh] left-1/2 z-40 max-h-[80dvh] w-[calc(100vw-24px)] -translate-x-1/2 scroll-pt-16 scroll-pb-18 overflow-y-auto rounded-lg border border-rule bg-sheet px-5 pb-5 shadow-2xl outline-none has-[[data-footer]]:pb-0 max-md:top-[5dvh] max-md:max-h-[90dvh] ${width}`}>
          <div className="sticky top-0 z-10 -mx-5 flex items-start gap-3 bg-sheet px-5 pt-5 pb-1">
            <Radix.Title className="min-w-0 flex-1 pt-0.5 text-lg leading-6 max-md:pt-1.5 font-semibold [overflow-wrap:anywhere]">{title}</Radix.Title>
            {!quiet && <CurlMenu />}
            <Radix.Close asChild>
              <Button tone="quiet" icon="close" bare>Close</Button>
            </Radix.Close>
          </div>
          <Radix.Description className={note ? 'text-soft' : 'sr-only'}>{note ?? title}</Radix.Description>
          <div ref={body} className="mt-3">{children}</div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** The buttons at the end of a dialog. They stay in view while what is above them scrolls, and what goes under them fades. */
export function Footer({ children }: { children: ReactNode }) {
  return (
    <div data-footer className="sticky bottom-0 z-10 -mx-5 mt-3 flex flex-wrap justify-end gap-2 bg-sheet px-5 pt-1 pb-5 before:pointer-events-none before:absolute before:inset-x-0 before:bottom-full before:h-3 before:bg-linear-to-t before:from-sheet before:to-transparent">
      {children}
    </div>
  );
}
