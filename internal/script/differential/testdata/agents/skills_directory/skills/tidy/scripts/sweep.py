print('swept')
