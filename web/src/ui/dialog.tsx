import * as Radix from '@radix-ui/react-dialog';
import type { ReactNode } from 'react';

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

export function Dialog({ open, onClose, title, note, children, width = 'max-w-[480px]', quiet }: DialogProps) {
  return (
    <Radix.Root open={open} onOpenChange={(is) => !is && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Radix.Content className={`fixed top-[12vh] left-1/2 z-40 max-h-[80vh] w-[calc(100vw-24px)] -translate-x-1/2 overflow-y-auto rounded-lg border border-rule bg-sheet p-5 shadow-2xl ${width}`}>
          <div className="mb-3 flex items-start gap-3">
            <div className="min-w-0 flex-1">
              <Radix.Title className="text-lg font-semibold">{title}</Radix.Title>
              <Radix.Description className={note ? 'text-soft' : 'sr-only'}>{note ?? title}</Radix.Description>
            </div>
            {!quiet && <CurlMenu />}
            <Radix.Close asChild>
              <Button tone="quiet" icon="close" bare>Close</Button>
            </Radix.Close>
          </div>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
